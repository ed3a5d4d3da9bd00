import { describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { PaymentStatus } from '../../lambdas/payments/domain/payment.ts';
import type { ViewKey } from '../../lambdas/views/domain/lists.ts';
import { listPayments } from '../../lambdas/views/use/list-payments.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import type { ViewRange } from '../../lambdas/views/use/view-store.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { Stores } from '../world/stores.ts';
import { emailTools } from './email-tools.ts';
import { takenAt } from './ledger-reader-suite.ts';
import { MemoryViews } from './memory-views.ts';
import { chainFor } from './view-histories.ts';

const OWNER = { tenantId: 'ten_list' as never, mode: 'test' } as const;

const chain = chainFor({
  key: 'moving',
  tenant: OWNER.tenantId,
  mode: 'test',
  reference: 'order-1',
  amountMinor: 1000,
  currency: 'EUR',
  hours: Array.from({ length: 9 }, (_, hour) => hour),
  steps: [
    { kind: 'authorized', chargeId: 'ch_1' },
    { kind: 'succeeded', chargeId: 'ch_1' },
  ],
});
const [before, after] = eventsOf(systemDigest, chain);

/** The status changes just after query number `reads`. */
async function listedWhileMoving(reads: number, filters: { readonly status?: PaymentStatus } = {}) {
  if (before === undefined || after === undefined) throw new Error('there are fewer than two events');
  const views = new MemoryViews();
  await projectEvent({ runner: idempotentRunner, views }, before);
  let left = reads;
  let turn: Promise<unknown> = Promise.resolve();
  const moving = {
    read: (key: ViewKey) => turn.then(() => views.read(key)),
    range: (range: ViewRange) => {
      const rows = turn.then(() => views.range(range));
      left -= 1;
      turn = left === 0 ? rows.then(() => projectEvent({ runner: idempotentRunner, views }, after)) : rows;
      return rows;
    },
  };
  const query = { reference: 'order-1', limit: 10, ...filters };
  const store = new Stores();
  await store.write(chain);
  const outcome = await listPayments(
    { views: moving, store, transitions: store.ledger, books: [], ...emailTools(store) },
    OWNER,
    query,
  );
  if (outcome.kind !== 'found') throw new Error('the cursor does not exist');
  return outcome.rows.map(({ chainId }) => chainId);
}

describe('the payments with a reference', () => {
  test.each([1, 2, 3, 4, 5, 6, 7])(
    'are each listed once, even if a status changes after read number %i',
    async (reads) => {
      expect(await listedWhileMoving(reads)).toEqual([chain[0]?.payment.id]);
    },
  );

  test('can also be filtered by status', async () => {
    expect(await listedWhileMoving(0, { status: 'requires_capture' })).toHaveLength(1);
    expect(await listedWhileMoving(0, { status: 'succeeded' })).toEqual([]);
  });
});

test.each<[string, { readonly status?: PaymentStatus }]>([
  ['all payments', {}],
  ['the payments with a status', { status: 'succeeded' }],
])('a page of ten from the list of %s takes at most four queries', async (_which, filter) => {
  const views = new MemoryViews();
  const chains = Array.from({ length: 40 }, (_, index) => takenAt(OWNER, `k-${index}`, Date.UTC(2026, 2, 1) + index));
  for (const event of eventsOf(systemDigest, chains.flat()))
    await projectEvent({ runner: idempotentRunner, views }, event);
  let queries = 0;
  const counted = {
    read: (key: ViewKey) => views.read(key),
    range: (range: ViewRange) => {
      queries += 1;
      return views.range(range);
    },
  };
  const store = new Stores();
  await store.write(chains.flat());
  const tools = { views: counted, store, transitions: store.ledger, books: [], ...emailTools(store) };
  const outcome = await listPayments(tools, OWNER, { limit: 10, ...filter });
  expect(outcome).toMatchObject({ kind: 'found', hasMore: true, rows: { length: 10 } });
  expect(queries).toBeLessThanOrEqual(4);
});
