import { expect, test } from '@jest/globals';
import { initialExport } from '../../lambdas/exports/domain/data-export.ts';
import { exportRows } from '../../lambdas/exports/use/export-rows.ts';
import { timeSortKey } from '../../lambdas/kernel/places.ts';
import { bookPartition, entrySortKey, paymentPartition } from '../../lambdas/views/domain/lists.ts';
import type { PostingRow } from '../../lambdas/views/domain/views.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { emptyTables } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { OWNER, requested } from './export-world.ts';

/** The posting sets fill two pages and one row of a third page. */
const SETS = 1_001;

test('pages contain every row of the range exactly once, even at page borders and across all partitions', async () => {
  const clock = new SimulatedClock();
  const views = new DynamoDbViews(emptyTables(clock).client, TABLES.views, { clock, entropy: countingEntropy() });
  const asked = initialExport(requested('exp_1'));
  // One set is before the range, and one is after it.
  for (let index = -1; index <= SETS; index += 1) {
    const isAfter = index === SETS;
    const occurredAtMs = isAfter ? asked.untilMs : asked.fromMs + Math.floor(index / 2);
    const paymentId = paymentIdFor(`set-${index}`);
    const legs: PostingRow['legs'] = [
      { account: 'processor_clearing', direction: 'debit', amountMinor: 1, currency: 'EUR', leg: 0 },
    ];
    const set: PostingRow = { occurredAtMs, paymentId, sequence: 2, type: 'payment.completed', legs };
    const key = { partition: bookPartition(OWNER, 'all', paymentId), sort: entrySortKey(set) };
    await views.put([{ ...key, chainId: paymentId, sequence: 2, body: JSON.stringify(set) }]);
  }
  const { entries } = exportRows({ views, transitions: { readTransition: async () => undefined } });
  const found: unknown[] = [];
  for (let after: string | undefined, pages = 0; pages === 0 || after !== undefined; pages += 1) {
    const { rows, next } = await entries.page(asked, after);
    found.push(...rows.map(([, payment]) => payment));
    after = next;
  }
  const wanted = Array.from({ length: SETS }, (_, index) => String(paymentIdFor(`set-${index}`)));
  expect(found.map(String).toSorted()).toEqual(wanted.toSorted());
});

test('payments in another currency are not read, except for rows that an earlier version stored without a currency', async () => {
  const clock = new SimulatedClock();
  const views = new DynamoDbViews(emptyTables(clock).client, TABLES.views, { clock, entropy: countingEntropy() });
  const asked = { ...initialExport(requested('exp_1')), filters: { currency: 'EUR' } };
  const read: string[] = [];
  for (const [name, currency] of [
    ['euro', 'EUR'],
    ['yen', 'JPY'],
    ['old', undefined],
  ] as const) {
    const paymentId = paymentIdFor(name);
    const key = { partition: paymentPartition(OWNER, paymentId), sort: timeSortKey(asked.fromMs, paymentId) };
    const body = JSON.stringify({ status: 'succeeded', amountMinor: 1, currency });
    await views.put([{ ...key, chainId: paymentId, sequence: 2, body }]);
  }
  const { payments } = exportRows({
    views,
    transitions: {
      readTransition: async ({ paymentId }) => {
        read.push(paymentId);
        return pendingTransition(paymentId);
      },
    },
  });
  const { rows } = await payments.page(asked, undefined);
  const wanted = [paymentIdFor('euro'), paymentIdFor('old')].toSorted();
  expect(read.toSorted()).toEqual(wanted);
  expect(new Set(rows.map(([, payment]) => payment))).toEqual(new Set(wanted));
});
