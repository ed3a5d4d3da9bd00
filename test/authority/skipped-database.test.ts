import { expect, test } from '@jest/globals';
import { shardedStores } from '../../lambdas/authority/sharded-stores.ts';
import { Shards } from '../../lambdas/authority/shards.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import { TerminalError } from '../../lambdas/kernel/faults.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';

const REFUSED = new TerminalError('store_refused', 'the role may not read the table');

function storesOf(unreadable: readonly string[]) {
  const skipped: string[] = [];
  const databaseOf = (name: string) => {
    const page = async <Page>(rows: Page) => {
      if (unreadable.includes(name)) throw REFUSED;
      return rows;
    };
    const rows = [{ row: { paymentId: paymentIdFor(name), authorizedAtMs: 0 }, cursor: name }];
    const holds = {
      dueBefore: (_beforeMs: number, { cursor = '' }: { readonly cursor?: string }) =>
        page({ rows: rows.filter((row) => row.cursor > cursor) }),
    };
    const expired = { scan: () => page({ found: [{ key: name }] }) };
    return { name, stores: { holds, expired, approvals: {}, orders: () => ({}), effects: () => ({}) } as never };
  };
  const shards = new Shards({
    databases: [databaseOf('a'), databaseOf('b'), databaseOf('c')],
    tenants: { of: () => Promise.reject(REFUSED) },
    unavailable: (shard) => skipped.push(shard),
  });
  return { ...shardedStores(shards), skipped };
}

async function holdsIn({ holds }: Pick<ReturnType<typeof storesOf>, 'holds'>) {
  const found: string[] = [];
  const read = async (cursor?: string): Promise<void> => {
    const { rows, next } = await holds.dueBefore(1, { limit: 1, ...defined({ cursor }) });
    found.push(...rows.map(({ row }) => row.paymentId));
    const after = rows.at(-1)?.cursor ?? next;
    if (after !== undefined) await read(after);
  };
  const failure: unknown = await read().catch((error: unknown) => error);
  return { found, failure };
}

test.each([[[]], [['a']], [['b']], [['c']], [['a', 'c']]])(
  'a run lists the holds of all readable databases, and then fails if a database cannot be read. Unreadable: %j',
  async (unreadable) => {
    const stores = storesOf(unreadable);
    const { found, failure } = await holdsIn(stores);
    const others = ['a', 'b', 'c'].filter((name) => !unreadable.includes(name));
    expect(found).toEqual(others.map((name) => paymentIdFor(name)));
    expect([...new Set(stores.skipped)]).toEqual(unreadable);
    if (unreadable.length === 0) expect(failure).toBeUndefined();
    else expect(failure).toMatchObject({ code: 'store_unavailable' });
  },
);

test('the scan for expired records skips a database that cannot be read', async () => {
  const { expired, skipped } = storesOf(['c']);
  const keys: string[] = [];
  const scan = async (after?: string): Promise<void> => {
    const { found, next } = await expired.scan({ segment: 0, segments: 1, ...defined({ after }) }, 1);
    keys.push(...found.map(({ key }) => key));
    if (next !== undefined) await scan(next);
  };
  await scan();
  expect([keys, skipped]).toEqual([['0 a', '1 b'], ['c']]);
});

test('an entry that needs an operator is listed once, even if the move of its tenant has copied it to a second database', async () => {
  const entry = { about: paymentIdFor('a'), part: 'ref_1', sinceMs: 1, needsOperator: true };
  const unreadable = { needsOperator: true };
  const listing = (name: string, entries: readonly object[], hasMore = false) => ({
    name,
    stores: {
      queues: { needingOperator: async () => ({ entries, hasMore }) },
      approvals: {},
      orders: () => ({}),
      effects: () => ({}),
    } as never,
  });
  const shards = new Shards({
    databases: [
      listing('a', [entry, { ...entry, part: 'ref_2' }, unreadable]),
      listing('b', [{ ...entry }, { ...unreadable }], true),
    ],
    tenants: { of: () => Promise.reject(REFUSED) },
    unavailable: () => undefined,
  });
  const { entries, hasMore } = await shardedStores(shards).queues.needingOperator('inquiries');
  expect(entries).toEqual([entry, { ...entry, part: 'ref_2' }, unreadable, unreadable]);
  expect(hasMore).toBe(true);
});
