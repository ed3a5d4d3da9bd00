import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { eventOf } from '../../lambdas/events/domain/event.ts';
import { COMMISSION_EVENTS } from '../../lambdas/follow-ups/contract.ts';
import { type CommissionEvent, keepCommission, writesOfDecision } from '../../lambdas/follow-ups/keep-commission.ts';
import { commissionOfChain } from '../../lambdas/follow-ups/recover-commission.ts';
import { DynamoDbLostCommissions } from '../../lambdas/follow-ups/store/dynamodb-lost-commissions.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { ownerToken, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { decidePayment } from '../../lambdas/operators/use/decide-payment.ts';
import { moneyOf } from '../../lambdas/payments/domain/charge-money.ts';
import { detailsOf } from '../../lambdas/payments/domain/transition.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { PaymentChain } from '../../lambdas/payments/use/payment-chain.ts';
import { DynamoDbImpliedRows } from '../../lambdas/resolving/store/dynamodb-implied-rows.ts';
import {
  initialQueueRebuildState,
  type QueueRebuildState,
  rebuildQueues,
} from '../../lambdas/resolving/use/rebuild-queues.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const COMMISSIONS = ['commission', 'commissionOfOrder', 'commissionDue'] as const;
const KINDS = ['inquiry', 'return', 'hold', 'openOrder', 'reference', ...COMMISSIONS] as const;

let world: World;
beforeEach(() => {
  world = new World({ pageBytes: 2_000 });
});

function rebuild(
  begin = initialQueueRebuildState(2),
  progress = async (_state: QueueRebuildState): Promise<void> => undefined,
) {
  const { store } = world;
  const rows = new DynamoDbImpliedRows(store.database.client, TABLES, world.basics);
  const lost = new DynamoDbLostCommissions(store.database.client, TABLES.registry, world.basics);
  const commission = async (chain: PaymentChain) => {
    const implied = commissionOfChain(systemDigest, chain);
    return implied !== undefined && lost.restore(implied);
  };
  const tools = { store, orders: store, ledger: store.ledgerScan, rows, clock: world.clock, commission };
  return rebuildQueues(tools, begin, progress);
}

function queued(): readonly (readonly [string, Record<string, unknown>])[] {
  return KINDS.flatMap((kind) => world.store.database.items(TABLES.registry, RegistryRow[kind]))
    .map((row) => [`${row['pk'] as string} ${row['sk'] as string}`, row] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1));
}

const keys = (): readonly string[] => queued().map(([key]) => key);

async function lose(): Promise<void> {
  for (const key of keys()) {
    const [pk, sk] = key.split(' ');
    await world.store.database.client.send(new DeleteCommand({ TableName: TABLES.registry, Key: { pk, sk } }));
  }
  expect(keys()).toEqual([]);
}

const pay = async (key: string, changes: Parameters<typeof paymentRequest>[1] = {}) => {
  const request = paymentRequest(key, changes);
  await world.pay(request);
  return request;
};

const consumerTools = () => ({ ...world.tools, records: world.store.consumed });

/** Returns the events that the relay publishes to the commission consumer. */
async function eventsOf(of: Parameters<World['chain']>[0]): Promise<readonly CommissionEvent[]> {
  const { first, transitions } = await world.chain(of);
  const concerned = transitions.filter(({ type }) => COMMISSION_EVENTS.some((name) => name === `${type}.v1`));
  return concerned.map((transition) => eventOf(systemDigest, transition, detailsOf(first)) as CommissionEvent);
}

async function unfinished() {
  const pending = await pay('pending', { source: 'tok_async' });
  await pay('payer', { source: 'tok_action' });
  await pay('held', { capture: 'manual' });
  await pay('referred', { reference: 'invoice-7' });
  const stray = await pay('stray', { source: 'tok_async' });
  await world.processor.inside.decline(world.chargeOf(stray));
  await world.deliver(callback('evt_1', world.chargeOf(stray)));
  await world.processor.inside.approve(world.chargeOf(stray));
  await world.deliver(callback('evt_2', world.chargeOf(stray)));
  const disputed = await pay('disputed');
  await world.processor.inside.dispute(world.chargeOf(disputed), 1000);
  await world.deliver(callback('evt_3', world.chargeOf(disputed)));
  const refunded = await pay('refunded');
  world.clock.advance(1_000);
  const begunAtMs = world.clock.nowMs();
  const refund = change(refunded, 'refund', { kind: 'refund', amountMinor: 300 });
  await world.dieAfterChange(refund);
  world.store.deleteRecord(refund.operationId);
  await world.order(orderRequest('open', { source: 'tok_async' }));
  const referrer = await pay('referrer', { metadata: { affiliate: 'aff_7', order: 'o1' } });
  await world.change(change(referrer, 'part', { kind: 'refund', amountMinor: 400 }));
  for (const event of await eventsOf(referrer)) await keepCommission(consumerTools(), event);
  // These payments and orders are closed, so they imply no queue rows.
  await pay('declined', { source: 'tok_declined', reference: 'invoice-8' });
  const captured = await pay('captured', { capture: 'manual' });
  await world.change(change(captured, 'capture', { kind: 'capture', amountMinor: 1000 }));
  await world.order(orderRequest('settled'));
  return { pending, stray, refunded, captured, begunAtMs };
}

describe('the queue rebuild after a Registry restore', () => {
  test('rewrites every queue entry and reference that a chain implies', async () => {
    const { stray, refunded, captured, begunAtMs } = await unfinished();
    // These rows are outdated: a charge that was declined after a 202 response, a captured hold, and the reference of a
    // declined payment. The next run or request removes or replaces them.
    const isOver = (key: string) =>
      key.endsWith(`${stray.paymentId}#${stray.paymentId}`) ||
      key.includes(captured.paymentId) ||
      key.includes('invoice-8');
    expect(keys().filter((key) => !isOver(key)).length).toBeGreaterThan(7);
    const was = queued();
    await lose();
    const { missing, unreadable, read } = await rebuild();
    const ofStray = `${stray.paymentId}#books`;
    const ofRefund = keys().filter((key) => key.includes(`${refunded.paymentId}#ref_`));
    expect(ofRefund).toHaveLength(1);
    const isNew = (key: string) => key.endsWith(ofStray) || ofRefund.includes(key);
    expect(queued().filter(([key]) => !isNew(key))).toEqual(was.filter(([key]) => !isOver(key)));
    expect(
      queued()
        .filter(([key]) => isNew(key))
        .map(([, row]) => row['claimedAtMs']),
    ).toEqual([begunAtMs - 1_000, begunAtMs]);
    expect(unreadable).toEqual([]);
    // Counts ten payments, and two orders with their payments.
    expect(read).toBe(14);
    expect(Object.values(missing).every((count) => count > 0)).toBe(true);
  });

  test('assigns a reference to its latest payment, even if the restored copy names a payment that has ended', async () => {
    const ended = await pay('ended', { source: 'tok_declined', reference: 'invoice-7' });
    const taken = await pay('taken', { reference: 'invoice-7' });
    const [row] = world.store.database.items(TABLES.registry, RegistryRow.reference);
    expect(row).toMatchObject({ paymentId: taken.paymentId });
    // A restored copy can contain half of a transaction, so the reference can name the older payment.
    const older = { ...row, paymentId: ended.paymentId };
    await world.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item: older }));
    await rebuild();
    const again = paymentRequest('again', { reference: 'invoice-7' });
    expect(await world.pay(again)).toEqual({ kind: 'reference_used', paymentId: taken.paymentId });
    expect(world.taken(again)).toBe(0);
  });

  test('does not cause a refund by another user of the account to be recorded as failed, even if its id looks like a Payonce id', async () => {
    const request = await pay('external');
    const charge = world.chargeOf(request);
    const refund = { id: 'ref_abc', object: 'refund', charge, amount: 300, status: 'pending', metadata: {} } as const;
    await world.processor.inside.correct(charge, { refunds: [refund], amount_refunded: 300 });
    await world.deliver(callback('evt_1', charge));
    await lose();
    await rebuild();
    await world.resolveFor(90);
    const { refunds } = (await world.chain(request)).state;
    expect([...refunds.values()]).toMatchObject([{ refundId: 'ref_abc', status: 'pending' }]);
  });

  test('queues the void of a stray hold again, and also the look-up of a refund that is pending at the bank', async () => {
    const held = await pay('stray-hold', { source: 'tok_async', capture: 'manual' });
    await world.processor.inside.decline(world.chargeOf(held));
    await world.deliver(callback('evt_1', world.chargeOf(held)));
    await world.processor.inside.approve(world.chargeOf(held));
    await world.deliver(callback('evt_2', world.chargeOf(held)));
    const paid = await pay('at-bank');
    await world.processor.inside.refund(world.chargeOf(paid), 300, 'pending');
    await world.deliver(callback('evt_3', world.chargeOf(paid)));
    const was = queued().filter(([key]) => key.startsWith('RETURN') || key.includes(paid.paymentId));
    expect(was.map(([, row]) => row['by'] ?? row['waitsFor'])).toEqual(['bank', 'void']);
    await lose();
    await rebuild();
    expect(queued()).toEqual(expect.arrayContaining([...was]));
  });

  test('queues the void of a stray hold that reappeared after a void; the second void has a new operation id', async () => {
    const held = await pay('reappears', { source: 'tok_async', capture: 'manual' });
    const charge = world.chargeOf(held);
    await world.processor.inside.decline(charge);
    await world.deliver(callback('evt_1', charge));
    await world.processor.inside.approve(charge);
    await world.deliver(callback('evt_2', charge));
    await world.returnCharges();
    expect(world.processor.charges(held.paymentId)).toMatchObject([{ status: 'voided' }]);
    await world.processor.inside.correct(charge, { status: 'authorized' });
    await world.deliver(callback('evt_3', charge));
    expect(await world.store.chargesToReturn(ALL_DUE)).toMatchObject([{ by: 'void' }]);
    await lose();
    await rebuild();
    await world.returnCharges();
    expect(world.processor.charges(held.paymentId)).toMatchObject([{ status: 'voided' }]);
    const voids = world.processor.inside.sent.filter(({ kind }) => kind === 'void');
    expect(new Set(voids.map(({ operationId }) => operationId)).size).toBe(2);
  });

  test('queues the refund of a stray charge again while this refund is pending at the bank', async () => {
    const stray = await pay('stray-at-bank', { source: 'tok_async' });
    const charge = world.chargeOf(stray);
    await world.processor.inside.decline(charge);
    await world.deliver(callback('evt_1', charge));
    await world.processor.inside.approve(charge);
    await world.deliver(callback('evt_2', charge));
    const refundId = await world.processor.inside.refund(charge, 1000, 'pending');
    await world.deliver(callback('evt_3', charge));
    expect(moneyOf(charge, (await world.chain(stray)).state)).toMatchObject({ leftMinor: 0, pendingMinor: 1000 });
    await lose();
    await rebuild();
    expect(queued().filter(([key]) => key.startsWith(RegistryRow.return))).toMatchObject([
      [expect.anything(), { by: 'refund' }],
    ]);
    await world.resolveFor(10);
    expect(await world.store.chargesToReturn(ALL_DUE)).toHaveLength(1);
    await world.processor.inside.endRefund(refundId, 'failed');
    await world.resolveFor(30);
    expect(world.refundedAtProcessor(stray)).toBe(1000);
    expect(await world.store.chargesToReturn(ALL_DUE)).toEqual([]);
  });

  test('restores the check of the books that an operator’s decision queued; a charge that contradicts the decision is then refunded', async () => {
    const decided = await pay('decided', { source: 'tok_async' });
    const charge = world.chargeOf(decided);
    await world.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 999 });
    await world.deliver(callback('evt_1', charge));
    const decision = {
      cause: BY_OPERATOR,
      operationId: storedOperationId('dec_lost'),
      fingerprint: fingerprintOf(world.tools.digest, { body: {}, query: {} }),
      payment: decided.paymentId,
      reason: 'Nothing on the statement',
      by: OPERATOR,
      asked: { kind: 'decision', outcome: 'failed' },
    } as const;
    expect(await decidePayment(world.tools, decision)).toMatchObject({ kind: 'first' });
    await lose();
    await rebuild();
    expect(queued().map(([, { waitsFor }]) => waitsFor)).toEqual(['books']);
    world.clock.advance(3 * 60 * 60_000);
    await world.resolveFor(65);
    expect(world.capturedAtProcessor(decided) - world.refundedAtProcessor(decided)).toBe(0);
    expect(keys()).toEqual([]);
  });

  test('queues an order whose refund failed, even if its payment has newer transitions; the order is then reopened', async () => {
    const order = orderRequest('undone', { items: [{ sku: 'sku_none', quantity: 1 }] });
    await world.order(order);
    await world.resolveFor(5);
    const { first, state } = await world.payment(order);
    const { id: paymentId } = first.payment;
    const charge = world.chargeOf({ paymentId });
    const [refund] = state.refunds.keys();
    await world.processor.inside.endRefund(refund ?? '', 'failed');
    await world.deliver(callback('evt_1', charge));
    await world.processor.inside.dispute(charge, 100);
    await world.deliver(callback('evt_2', charge));
    expect((await world.typesOf({ paymentId })).slice(-2)).toEqual(['refund.failed', 'dispute.opened']);
    await lose();
    await rebuild();
    expect(await world.store.openOrders(ALL_DUE)).toMatchObject([{ orderId: order.orderId }]);
    await world.resolveFor(10);
    expect(await world.typesOf(order)).toContain('order.reopened');
  });

  test('stops at a store that does not respond, so that no payment is skipped', async () => {
    await pay('held', { capture: 'manual' });
    const { store } = world;
    const away = {
      readRecord: store.readRecord.bind(store),
      listTransitions: () => Promise.reject(new RetryableError('store_unavailable', 'no response')),
    };
    const putMissing = async () => true;
    const tools = {
      store: away,
      orders: store,
      ledger: store.ledgerScan,
      rows: { putMissing },
      clock: world.clock,
      commission: putMissing,
    };
    await expect(rebuildQueues(tools, initialQueueRebuildState(2), async () => undefined)).rejects.toMatchObject({
      code: 'store_unavailable',
    });
  });

  test('gives unfinished work the same outcome as without the restore', async () => {
    const { pending, stray, refunded } = await unfinished();
    await lose();
    await rebuild();
    await world.processor.inside.approve(world.chargeOf(pending));
    await world.resolveFor(200);
    expect((await world.chain(pending)).state.payment.status).toBe('succeeded');
    expect(world.refundedAtProcessor(stray)).toBe(1000);
    const { refunds } = (await world.chain(refunded)).state;
    expect([...refunds.values()].map(({ status }) => status)).toEqual(['succeeded']);
    expect(world.refundedAtProcessor(refunded)).toBe(300);
  });

  test('adds and removes no row when repeated', async () => {
    await unfinished();
    await rebuild();
    const before = keys();
    const { missing } = await rebuild();
    expect(missing).toEqual({ inquiry: 0, return: 0, hold: 0, open_order: 0, reference: 0, commission: 0 });
    expect(keys()).toEqual(before);
  });

  test('continues from its last position after an interruption, and loses nothing', async () => {
    await unfinished();
    await lose();
    const reached: { readonly state: QueueRebuildState; readonly written: readonly string[] }[] = [];
    await rebuild(initialQueueRebuildState(2), async (state) => void reached.push({ state, written: keys() }));
    const all = keys();
    await lose();
    const middle = reached[Math.floor(reached.length / 2)];
    invariant(middle !== undefined, 'the rebuild reported no progress');
    await rebuild(middle.state);
    const rest = keys();
    expect(rest.length).toBeGreaterThan(0);
    expect(middle.written.filter((key) => !rest.includes(key))).not.toEqual([]);
    expect([...new Set([...middle.written, ...rest])].toSorted()).toEqual(all.toSorted());
  });
});

test('a rebuild does not change a commission that was released or belongs to another payment of its order', async () => {
  const metadata = { affiliate: 'aff_7', order: 'o1' };
  const released = await pay('released', { metadata });
  const second = await pay('second', { metadata });
  for (const payment of [released, second])
    for (const event of await eventsOf(payment)) await keepCommission(consumerTools(), event);
  const { first, transitions } = await world.chain(released);
  const commission = commissionOfChain(systemDigest, { first, transitions });
  expect(commission).toMatchObject({ amountMinor: 100, status: 'locked' });
  invariant(commission !== undefined, 'the payment has no commission');
  const record = { operationId: storedOperationId('biz_release'), owner: ownerToken('job'), recordedAtMs: 0 };
  const decided = writesOfDecision({ ...commission, status: 'released', sequence: 1_000_000 }, commission);
  expect(await world.store.consumed.recordOnce(record, decided)).toEqual({ kind: 'recorded' });
  const before = queued();
  expect((await rebuild()).missing.commission).toBe(0);
  expect(queued()).toEqual(before);
});

test.each(['commission', 'commissionOfOrder'] as const)(
  'a rebuild writes the row %s of a commission again if the row lacks the last event',
  async (outdated) => {
    const request = await pay('half', { metadata: { affiliate: 'aff_7', order: 'o1' } });
    for (const event of await eventsOf(request)) await keepCommission(consumerTools(), event);
    const before = queued();
    const [row] = world.store.database.items(TABLES.registry, RegistryRow[outdated]);
    const put = new PutCommand({ TableName: TABLES.registry, Item: { ...row, sequence: 1 } });
    await world.store.database.client.send(put);
    expect(queued()).not.toEqual(before);
    expect((await rebuild()).missing.commission).toBe(1);
    expect(queued()).toEqual(before);
  },
);

test('after a rebuild, the resolver finishes a claim whose record was lost, and charges once', async () => {
  const request = paymentRequest('lost-record');
  await world.claimThenDie(request, true);
  world.store.deleteRecord(chargeOperation(request.paymentId));
  await world.resolveFor(60);
  expect((await world.chain(request)).state.payment.status).toBe('processing');
  await rebuild();
  await world.resolveFor(10);
  expect((await world.chain(request)).state.payment.status).toBe('succeeded');
  expect(world.taken(request)).toBe(1);
});

test('superfluous queue entries change neither the books nor the processor’s charges', async () => {
  await unfinished();
  await rebuild();
  await world.resolveFor(180);
  const transitions = world.store.outcomes().length;
  const { length: sent } = world.processor.inside.sent;
  await lose();
  const { missing } = await rebuild();
  expect(missing.inquiry).toBeGreaterThan(1);
  await world.resolveFor(200);
  expect(world.store.outcomes()).toHaveLength(transitions);
  expect(world.processor.inside.sent).toHaveLength(sent);
});
