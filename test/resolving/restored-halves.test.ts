/** Tests the guarantee "restored tables". */
import { DeleteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { IdempotencyRow, RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import type { OrderId } from '../../lambdas/kernel/ids.ts';
import { approvalPlace } from '../../lambdas/operators/domain/approval.ts';
import { parseOrderId } from '../../lambdas/orders/ids.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { booksInquiry } from '../../lambdas/payments/use/queued-with.ts';
import { DynamoDbImpliedRows } from '../../lambdas/resolving/store/dynamodb-implied-rows.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { ALL_DUE } from '../support/due.ts';
import { sliceOf } from '../support/slice.ts';
import { TABLES } from '../world/tables.ts';
import { BEN, HISTORIES } from './restored-histories.ts';
import { type Cut, type HistoryStep, RestoredWorld, type Transaction } from './restored-world.ts';

/** `repeated`: the client retries its requests right after the restore. `left`: it retries them after the jobs. */
type Next = 'repeated' | 'left';

/** @returns the violations that remain after all work */
async function playRestored(history: readonly HistoryStep[], cut: Cut, next: Next): Promise<readonly string[]> {
  globalThis.spendCases?.(1);
  const world = new RestoredWorld(cut);
  let done = 0;
  while (done < history.length && !(await world.do(history[done] as HistoryStep))) done += 1;
  await world.recover();
  const found: string[] = [];
  if (next === 'left') {
    await world.work(50);
    found.push(...(await world.endless()));
  }
  for (const [place, step] of history.entries()) {
    if (step.isKeyed === true) found.push(...(await world.repeat(step)));
    else if (place >= done) await world.do(step);
  }
  await world.work(50);
  await world.work(12, 20 * 60_000);
  await world.compare();
  found.push(...(await world.endless()), ...(await world.differences()), ...(await world.unmade()));
  found.push(...(await world.misjudged()), ...world.left());
  return found;
}

/** Returns every subset of the rows, except the complete transaction. */
function choicesOf({ rows }: Transaction): readonly (readonly number[])[] {
  return Array.from({ length: 2 ** rows.length - 1 }, (_, bits) =>
    rows.flatMap((_row, place) => ((bits >> place) & 1 ? [place] : [])),
  );
}

async function transactionsOf(history: readonly HistoryStep[]): Promise<readonly Transaction[]> {
  const world = new RestoredWorld();
  for (const step of history) await world.do(step);
  return world.transactions;
}

describe('tables restored to a point in time within a transaction', () => {
  test.each(sliceOf(Object.entries(HISTORIES), 3))(
    'let all work of the history of %s finish, whichever rows the copy contains',
    async (_name, history) => {
      const transactions = await transactionsOf(history);
      const cases = transactions.flatMap((transaction, place) =>
        choicesOf(transaction).flatMap((kept) =>
          (['repeated', 'left'] as const).map((next) => ({ cut: { transaction: place, kept }, next })),
        ),
      );
      const found: string[] = [];
      for (const { cut, next } of sliceOf(cases, 53)) {
        const rows = transactions[cut.transaction]?.rows ?? [];
        const copied = rows.map((row, place) => (cut.kept.includes(place) ? row : `no ${row}`));
        const failures = await playRestored(history, cut, next).catch((error: Error) => [String(error.stack)]);
        found.push(...new Set(failures.map((what) => `${cut.transaction}: ${copied.join(', ')}, ${next}: ${what}`)));
      }
      expect(found).toEqual([]);
    },
  );
});

/** The restored copy contains only the rows in `has` of the given transaction. */
async function restored(history: keyof typeof HISTORIES, transaction: number, has: readonly string[]) {
  const steps = HISTORIES[history] ?? [];
  const rows = (await transactionsOf(steps))[transaction]?.rows ?? [];
  const kept = rows.flatMap((row, place) => (has.some((name) => row.endsWith(name)) ? [place] : []));
  expect(kept).toHaveLength(has.length);
  const world = new RestoredWorld({ transaction, kept });
  for (const step of steps) if (await world.do(step)) break;
  return { world, steps, last: steps.at(-1) as HistoryStep };
}

describe('before the recovery,', () => {
  test.each([
    ['a payment', 0, 'pay'],
    ['a refund', 2, 'ref'],
    ['an order', 0, 'ord'],
  ])(
    'a claim without its transition stays open, and requests with its key get 503: %s',
    async (history, transaction, row) => {
      const { world, last } = await restored(history, transaction, [row]);
      world.adopt();
      const sent = world.inside.sent.length;
      await world.work(60);
      expect(world.world.reported).toEqual([]);
      expect(await last.act(world)).toMatchObject({ status: 503, body: { code: 'temporarily_unavailable' } });
      expect(world.inside.sent).toHaveLength(sent);
      expect(world.world.store.openClaims()).toBe(1);
    },
  );

  test('a look-up of a payment is repeated if its record was restored without its transition', async () => {
    const { world } = await restored('a read of a payment', 2, ['inq']);
    world.adopt();
    await world.work(10);
    expect(world.world.reported).toEqual([]);
    expect((await world.world.chain(world)).state.payment.status).toBe('succeeded');
  });

  test('an adopted orphan that reappears is adopted again', async () => {
    const { world } = await restored('an orphaned callback, and its adoption', 3, ['ad_']);
    world.adopt();
    await world.work(10);
    expect(world.world.reported).toEqual([]);
    expect([
      ...(await world.world.store.waiting('own', ALL_DUE)),
      ...(await world.world.store.waiting('foreign', ALL_DUE)),
    ]).toEqual([]);
    expect((await world.world.chain(world)).state.strayCharges.size).toBe(1);
  });

  test('the jobs close queue entries whose payment or order was lost', async () => {
    const { world } = await restored('an orphaned callback, and its adoption', 3, ['ORPHAN']);
    world.adopt();
    const { store, clock } = world.world;
    const gone = { paymentId: paymentIdFor('gone'), chargeId: 'ch_gone', claimedAtMs: clock.nowMs() };
    const { paymentId, claimedAtMs } = gone;
    const operationId = chargeOperation(paymentId);
    const rows = new DynamoDbImpliedRows(store.database.client, TABLES, world.world.basics);
    const never = async () => false;
    await rows.putMissing({ kind: 'inquiry', row: { operationId, paymentId, claimedAtMs } }, never);
    await rows.putMissing({ kind: 'inquiry', row: booksInquiry(paymentId, claimedAtMs) }, never);
    await rows.putMissing({ kind: 'return', row: { ...gone, by: 'refund', foundAtMs: claimedAtMs } }, never);
    const longAgoMs = claimedAtMs - 30 * 24 * 3_600_000;
    await rows.putMissing({ kind: 'hold', row: { paymentId, authorizedAtMs: longAgoMs } }, never);
    const orderId = parseOrderId(`ord_${'a'.repeat(32)}`) as OrderId;
    await rows.putMissing({ kind: 'open_order', row: { orderId, createdAtMs: claimedAtMs, sequence: 1 } }, never);
    await world.work(5);
    expect(world.world.reported).toEqual([]);
    expect([store.queued('inquiry'), store.queued('return'), store.holdsLeft()]).toEqual([0, 0, []]);
    expect(await store.openOrders(ALL_DUE)).toEqual([]);
  });
});

describe('the recovery', () => {
  test.each([
    ['a payment', 0, 'pay', 'claim', 201],
    ['a payment', 1, 'pay', 'answer', 201],
    ['a refund', 2, 'ref', 'claim', 201],
    ['a refund', 3, 'ref', 'answer', 201],
    ['an order', 0, 'ord', 'claim', 201],
    ['an order', 6, 'ord', 'answer', 201],
    ['a correction', 2, 'cor', 'effect', 201],
    ['an approved correction', 3, 'apr', 'effect', 200],
  ])(
    'reports the key of %s, and a later retry with that key is handled as a first request',
    async (history, transaction, row, kind, status) => {
      const { world, last } = await restored(history, transaction, [row]);
      const lost = await world.recover();
      expect(lost).toMatchObject([{ operationId: expect.stringMatching(`^${row}_`), kind }]);
      expect(await last.act(world)).toMatchObject({ status });
      expect(await world.recover()).toEqual([]);
    },
  );

  test('reopens an approval whose effect is lost', async () => {
    const { world, last } = await restored('an approved correction', 3, ['APPROVALS']);
    const lost = await world.recover();
    expect(lost).toMatchObject([{ operationId: expect.stringMatching(/^apr_/), kind: 'verdict' }]);
    expect(await last.act(world)).toMatchObject({ status: 200, body: { status: 'approved' } });
    const { state } = await world.world.chain({ paymentId: world.paymentId });
    expect(state.corrections.size).toBe(1);
    expect(await world.recover()).toEqual([]);
  });

  test.each(['an approved correction', 'an approved decision', 'an approved refund'])(
    'restores the lost verdict of %s, so that the approval cannot be rejected afterwards',
    async (history) => {
      const steps = HISTORIES[history] ?? [];
      const world = new RestoredWorld();
      for (const step of steps) await world.do(step);
      const { store } = world.world;
      const [approved] = await store.listApprovals({ limit: 1 });
      const { end, id } = approved ?? {};
      expect(end).toMatchObject({ verdict: 'approved', by: { name: 'Ben Example' } });
      expect(await world.recover()).toEqual([]);
      expect(await store.listApprovals({ limit: 1 })).toEqual([approved]);
      await store.database.client.send(
        new UpdateCommand({
          TableName: TABLES.registry,
          Key: { pk: RegistryRow.approvals, sk: approvalPlace(id ?? '') },
          UpdateExpression: 'REMOVE #end',
          ExpressionAttributeNames: { '#end': 'end' },
        }),
      );
      await store.database.client.send(
        new DeleteCommand({ TableName: TABLES.idempotency, Key: { pk: `${IdempotencyRow.record}${id}` } }),
      );
      expect(await world.recover()).toEqual([]);
      expect(await store.listApprovals({ limit: 1 })).toEqual([approved]);
      expect(await world.api.reject(id ?? '', BEN)).toMatchObject({ status: 409, body: { code: 'approval_ended' } });
      expect(await world.recover()).toEqual([]);
    },
  );

  test('leaves an approval open, but not rejectable, after its repeated request took effect with another approval', async () => {
    const { world, steps } = await restored('an approved correction', 2, ['APPROVALS', 'DETAILS']);
    await world.recover();
    const [kept] = await world.world.store.listApprovals({ limit: 1 });
    for (const step of steps.slice(1)) await world.do(step);
    expect(world.made('approval')).toMatchObject({ status: 200 });
    expect(kept?.end).toBeUndefined();
    expect(await world.api.reject(kept?.id ?? '', BEN)).toMatchObject({
      status: 409,
      body: { code: 'approval_ended' },
    });
    expect(await world.misjudged()).toEqual([]);
  });

  test('finds an executed refund with a lost claim by reading the processor’s books', async () => {
    const { world } = await restored('a refund', 3, []);
    const { store, processor } = world.world;
    const [refund] = processor.charges(world.paymentId).flatMap(({ refunds }) => refunds);
    expect(refund).toMatchObject({ amountMinor: 300 });
    store.database.resume();
    const chain = await world.world.chain({ paymentId: world.paymentId });
    const { pk, sk } = store.database.items(TABLES.ledger, 'PAY#').at(-1) ?? {};
    await store.database.client.send(new DeleteCommand({ TableName: TABLES.ledger, Key: { pk, sk } }));
    expect(chain.newest.type).toBe('refund.pending');
    expect(await world.recover()).toMatchObject([{ kind: 'claim' }]);
    await world.work(10);
    const { state } = await world.world.chain({ paymentId: world.paymentId });
    expect(state.payment.amountRefundedMinor).toBe(300);
    expect(world.world.refundedAtProcessor({ paymentId: world.paymentId })).toBe(300);
  });

  test('lets a retry complete an order whose contact details are lost, but without an e-mail', async () => {
    const { world, last } = await restored('an order', 0, ['ord', 'ORD']);
    await world.recover();
    expect(await last.act(world)).toMatchObject({
      status: 201,
      body: { status: 'completed', email: null, details_erased: true },
    });
    expect(world.world.mailer.outbox).toEqual([]);
  });

  test('reports a chain with a missing transition', async () => {
    const history = HISTORIES['a callback with several facts'] ?? [];
    const world = new RestoredWorld({ transaction: 2, kept: [0, 2] });
    for (const step of history) if (await world.do(step)) break;
    world.adopt();
    const { broken } = await world.rebuild();
    expect(broken).toEqual([world.paymentId]);
  });
});
