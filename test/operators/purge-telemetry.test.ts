import { expect, test } from '@jest/globals';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { purgeTelemetry } from '../../lambdas/operators/http/purge-telemetry.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const lines = catchWrittenLines();

test('the number of expired records is published even at zero, so that alarms clear and missing runs are detected', () => {
  const telemetry = purgeTelemetry(systemInstruments);
  telemetry.purged(0, []);
  telemetry.purged(1_200, ['idempotency']);

  const metrics = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => '_aws' in line);
  expect(metrics).toMatchObject([
    { service: 'books', expired_left: 0, ttl_not_working: 0 },
    { service: 'books', expired_left: 1_200, ttl_not_working: 1 },
  ]);
});
