import { expect, test } from '@jest/globals';
import { jobTelemetry } from '../../lambdas/jobs/http/job-telemetry.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const lines = catchWrittenLines();

const written = () =>
  lines.map((line) => JSON.parse(line) as { _aws: { CloudWatchMetrics: readonly { Dimensions: unknown }[] } });

test('each count is logged immediately, by job and by frequency, under one service name for all workers', () => {
  const { count } = jobTelemetry('payment-jobs', systemInstruments);
  count('resolve', 'job_failed', 1);
  count('close-days', 'job_item_failed', 3);
  expect(written()).toMatchObject([
    { service: 'jobs', job: 'resolve', job_failed: 1 },
    { service: 'jobs', frequency: 'minutes', job_failed: 1 },
    { service: 'jobs', job: 'close-days', job_item_failed: 3 },
    { service: 'jobs', frequency: 'hours', job_item_failed: 3 },
  ]);
  const dimensions = written().map(({ _aws }) => _aws.CloudWatchMetrics[0]?.Dimensions);
  expect(dimensions).toEqual([
    [['service', 'job']],
    [['service', 'frequency']],
    [['service', 'job']],
    [['service', 'frequency']],
  ]);
});

test('the number of overdue jobs is reported even if it is zero, and a log line names the jobs', () => {
  const { overdue } = jobTelemetry('upkeep-jobs', systemInstruments);
  overdue([]);
  overdue(['resolve', 'close-days']);
  expect(written()).toMatchObject([
    { service: 'jobs', jobs_overdue: 0 },
    { message: 'overdue', jobs: ['resolve', 'close-days'] },
    { service: 'jobs', jobs_overdue: 2 },
  ]);
});
