import { expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { carryTelemetry } from '../../lambdas/postgres/carry-telemetry.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const lines = catchWrittenLines();
const NOW = Date.UTC(2026, 2, 1, 12);

test('the age of the oldest uncopied row is published, even if it is zero, and logged as an error if it exceeds a minute', () => {
  const telemetry = carryTelemetry(systemInstruments);
  telemetry.observed({ oldestMs: undefined, stopped: 1 }, NOW);
  telemetry.observed({ oldestMs: NOW - 60_000, stopped: 0 }, NOW);
  telemetry.observed({ oldestMs: NOW - 60_001, stopped: 0 }, NOW);
  // The clock of the row's writer is ahead.
  telemetry.observed({ oldestMs: NOW + 5, stopped: 0 }, NOW);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { service: 'copies', oldest_uncopied: 0, copies_stopped: 1 },
    { service: 'copies', oldest_uncopied: 60_000, copies_stopped: 0 },
    { level: 'ERROR', message: 'copies_late', ageMs: 60_001 },
    { service: 'copies', oldest_uncopied: 60_001, copies_stopped: 0 },
    { service: 'copies', oldest_uncopied: 0, copies_stopped: 0 },
  ]);
});

test('a stopped chain and a failed copy are logged with the chain’s id; of a copy’s error, only the code is logged', () => {
  const telemetry = carryTelemetry(systemInstruments);
  telemetry.stopped('pay_a', 2);
  telemetry.failed('pay_b', new RetryableError('store_unavailable', 'a message with personal data'));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 'ERROR', message: 'copy_stopped', chain: 'pay_a', sequence: 2 },
    { level: 'WARN', message: 'copy_failed', chain: 'pay_b', error: 'store_unavailable' },
  ]);
  expect(lines.join()).not.toContain('personal');
});
