import { expect, test } from '@jest/globals';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { backlogTelemetry } from '../../lambdas/resolving/http/backlog-telemetry.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const lines = catchWrittenLines();

test('the backlog is published under the names that the alarms use, even if it is empty', () => {
  const report = backlogTelemetry(systemInstruments);
  report({ open_claims: 0, oldest_open_claim: 0 });
  report({ unknown_outcomes: 2, oldest_unknown_outcome: 180_000 });
  expect(lines.map((text) => JSON.parse(text) as unknown)).toMatchObject([
    {
      service: 'backlog',
      open_claims: 0,
      oldest_open_claim: 0,
      _aws: {
        CloudWatchMetrics: [
          {
            Namespace: 'Payonce',
            Dimensions: [['service']],
            Metrics: [
              { Name: 'open_claims', Unit: 'Count' },
              { Name: 'oldest_open_claim', Unit: 'Milliseconds' },
            ],
          },
        ],
      },
    },
    { service: 'backlog', unknown_outcomes: 2, oldest_unknown_outcome: 180_000 },
  ]);
});
