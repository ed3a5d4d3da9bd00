import { expect, test } from '@jest/globals';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Account } from '../../lambdas/payments/domain/posting.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { bookPartition, entryList, entrySortKey } from '../../lambdas/views/domain/lists.ts';
import type { PostingRow } from '../../lambdas/views/domain/views.ts';
import { closeDays } from '../../lambdas/views/use/close-days.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeLedgerReader } from './ledger-reader-suite.ts';
import { MemoryViews } from './memory-views.ts';

/**
 * @param clockMs the time at which the closer runs; after every write, it closes the days that ended before this time
 */
function describeViews(name: string, clockMs?: number): void {
  describeLedgerReader(name, async () => {
    const written: Transition[] = [];
    const views = new MemoryViews();
    return {
      reader: new ViewLedgerReader(views),
      write: async (transitions) => {
        written.push(...transitions);
        for (const event of eventsOf(systemDigest, transitions)) {
          await projectEvent({ runner: idempotentRunner, views }, event);
          if (clockMs === undefined) continue;
          const owner = { tenantId: event.tenant, mode: event.mode };
          await closeDays({ views, clock: new SimulatedClock(clockMs), entropy: countingEntropy() }, owner, 3);
        }
      },
    };
  });
}

describeViews('the Views');
describeViews('the Views, with closed days', Date.UTC(2026, 2, 5));

test('a query finds an entry of an account even if thousands of posting sets before it do not contain this account', async () => {
  const owner = { tenantId: tenantId('ten_1'), mode: 'test' as const };
  const views = new MemoryViews();
  const paymentId = `pay_${'a'.repeat(32)}` as PaymentId;
  const SETS = 3_500;
  const rows = Array.from({ length: SETS }, (_, index) => {
    const account: Account = index === SETS - 1 ? 'processor_clearing' : 'refunds';
    const leg = { account, direction: 'debit' as const, amountMinor: 1, currency: 'EUR', leg: 0 };
    const set: PostingRow = { occurredAtMs: index, paymentId, sequence: 2, type: 'ledger.corrected', legs: [leg] };
    const key = { partition: bookPartition(owner, 'all', paymentId), sort: entrySortKey(set) };
    return { ...key, chainId: paymentId, sequence: 2, body: JSON.stringify(set) };
  });
  await views.put(rows);
  const reader = new ViewLedgerReader(views);
  const entries = await reader.entries({ ...owner, account: 'processor_clearing', limit: 1 });
  expect(entries).toMatchObject([{ occurredAtMs: SETS - 1, account: 'processor_clearing' }]);
});

test('a query for a currency that a large Ledger lacks is refused after it has read a bounded number of rows', async () => {
  const owner = { tenantId: tenantId('ten_1'), mode: 'test' as const };
  const paymentId = `pay_${'a'.repeat(32)}` as PaymentId;
  let read = 0;
  const reader = new ViewLedgerReader({
    range: async ({ partition, limit }) =>
      Array.from({ length: limit }, () => {
        read += 1;
        const leg = {
          account: 'refunds' as const,
          direction: 'debit' as const,
          amountMinor: 1,
          currency: 'EUR',
          leg: 0,
        };
        const set: PostingRow = { occurredAtMs: read, paymentId, sequence: 2, type: 'ledger.corrected', legs: [leg] };
        return { partition, sort: entrySortKey(set), chainId: paymentId, sequence: 2, body: JSON.stringify(set) };
      }),
  });

  await expect(reader.entries({ ...owner, currency: 'JPY', limit: 1 })).rejects.toMatchObject({
    name: 'TerminalError',
    code: 'currency_too_rare',
  });
  expect(read).toBeLessThan(60_000);
});

test('a search for a currency that a large Ledger lacks makes at most 60 calls', async () => {
  const owner = { tenantId: tenantId('ten_1'), mode: 'test' as const };
  const paymentId = `pay_${'a'.repeat(32)}` as PaymentId;
  const { partitions } = entryList(owner, 'all');
  const legs = [{ account: 'refunds' as const, direction: 'debit' as const, amountMinor: 1, currency: 'EUR', leg: 0 }];
  let [calls, read] = [0, 0];
  const reader = new ViewLedgerReader({
    // An endless Ledger: one posting set per millisecond, written to the partitions in rotation.
    range: async ({ partition, from, limit }) => {
      calls += 1;
      read += limit;
      const [shard, shards] = [partitions.indexOf(partition), partitions.length];
      const first = Math.ceil((Number.parseInt(from, 10) + 1 - shard) / shards);
      return Array.from({ length: limit }, (_, index) => {
        const occurredAtMs = (first + index) * shards + shard;
        const set: PostingRow = { occurredAtMs, paymentId, sequence: 2, type: 'ledger.corrected', legs };
        return { partition, sort: entrySortKey(set), chainId: paymentId, sequence: 2, body: JSON.stringify(set) };
      });
    },
  });
  await expect(reader.entries({ ...owner, currency: 'JPY', limit: 100 })).rejects.toThrow(
    'contain fewer entries in JPY',
  );
  expect(calls).toBeLessThanOrEqual(60);
  expect(read).toBeGreaterThan(20_000);
});
