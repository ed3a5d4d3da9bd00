import { expect, test } from '@jest/globals';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { updatedMismatch } from '../../lambdas/reconciliation/domain/mismatch-view.ts';
import { booksTelemetry } from '../../lambdas/reconciliation/http/books-telemetry.ts';
import { catchWrittenLines } from '../support/written-lines.ts';
import { comparedPayment, differsBy } from './mismatch-fixtures.ts';

const lines = catchWrittenLines();
const written = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);

test('the number of mismatches is published even at zero, so that alarms clear and missing runs are detected', () => {
  const telemetry = booksTelemetry(systemInstruments);
  telemetry.counted({ confirmed: 0, suspected: 3 });
  telemetry.counted({ confirmed: 2, suspected: 0 });

  const metrics = written().filter((line) => '_aws' in line);
  expect(metrics).toMatchObject([
    { service: 'books', mismatches: 0 },
    { service: 'books', mismatches: 2 },
  ]);
});

test('a mismatch is logged in one line with both amounts and its owner', () => {
  const open = updatedMismatch(systemDigest, undefined, comparedPayment('k'), differsBy(1700), 5);
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
