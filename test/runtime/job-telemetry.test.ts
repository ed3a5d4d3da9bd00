import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { jobTelemetry } from '../../lambdas/runtime/job-telemetry.ts';

let lines: string[];
beforeEach(() => {
  lines = [];
  // The package writes through a console of its own, to standard output.
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    lines.push(String(text));
    return true;
  });
});
afterEach(() => {
  jest.restoreAllMocks();
});

test('each count is a line at once, by job, under one service for all workers', () => {
  const { count } = jobTelemetry('payment-jobs');
  count('resolve', 'job_succeeded', 1);
  count('close-days', 'job_item_failed', 3);
  const written = lines.map((line) => JSON.parse(line) as { _aws: { CloudWatchMetrics: readonly unknown[] } });
  expect(written).toMatchObject([
    { service: 'jobs', job: 'resolve', job_succeeded: 1 },
    { service: 'jobs', job: 'close-days', job_item_failed: 3 },
  ]);
  for (const { _aws: embedded } of written) {
    expect(embedded.CloudWatchMetrics).toMatchObject([{ Namespace: 'Payonce', Dimensions: [['service', 'job']] }]);
  }
});
