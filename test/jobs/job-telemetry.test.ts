import { expect, test } from '@jest/globals';
import { jobTelemetry } from '../../lambdas/jobs/http/job-telemetry.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const lines = catchWrittenLines();

test('each count is logged immediately, by job, under one service for all workers', () => {
  const { count } = jobTelemetry('payment-jobs', systemInstruments);
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
