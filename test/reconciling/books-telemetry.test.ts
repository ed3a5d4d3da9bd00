import { expect, test } from '@jest/globals';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { seenAgain } from '../../lambdas/reconciling/domain/mismatch-view.ts';
import { booksTelemetry } from '../../lambdas/reconciling/http/books-telemetry.ts';
import { catchWrittenLines } from '../support/written-lines.ts';
import { apartBy, lookedAt } from './mismatch-fixtures.ts';

const lines = catchWrittenLines();
const written = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);

test('a gauge is published also when zero, so that an alarm ends and a missing run is noticed', () => {
  const told = booksTelemetry(systemInstruments);
  told.counted({ confirmed: 0, suspected: 3 });
  told.purged(0, []);
  told.counted({ confirmed: 2, suspected: 0 });
  told.purged(1_200, ['idempotency']);

  const metrics = written().filter((line) => '_aws' in line);
  expect(metrics).toMatchObject([
    { service: 'books', mismatches: 0 },
    { service: 'books', expired_left: 0, ttl_not_working: 0 },
    { service: 'books', mismatches: 2 },
    { service: 'books', expired_left: 1_200, ttl_not_working: 1 },
  ]);
});

test('a mismatch is a log line with both figures and its owner', () => {
  const open = seenAgain(systemDigest, undefined, lookedAt('k'), apartBy(1700), 5);
  booksTelemetry(systemInstruments).difference('suspected', open);

  expect(written()).toMatchObject([
    {
      message: 'mismatch',
      change: 'suspected',
      id: open.id,
      tenantId: 'ten_desk',
      processorMinor: 1700,
      ledgerMinor: 1000,
    },
  ]);
});
