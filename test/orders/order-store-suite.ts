import { beforeEach, describe, expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { type OrderId, ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { sealOf } from '../../lambdas/kernel/sealed-details.ts';
import { createOrderDraft, type OrderDraft } from '../../lambdas/orders/domain/order.ts';
import {
  firstBrokenOrderLink,
  firstOrderTransition,
  nextOrderTransitions,
  type OrderTransition,
} from '../../lambdas/orders/domain/order-transition.ts';
import { orderOperation, paymentOfOrder } from '../../lambdas/orders/ids.ts';
import type { OrderStore } from '../../lambdas/orders/use/order-store.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { EffectStore } from '../../lambdas/payments/use/effect-store.ts';
import type { OpenOrder, PaymentStore } from '../../lambdas/payments/use/payment-store.ts';

import type { UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { completedRecord, openRecord, outcomeTransition, pendingTransition } from '../payments/payment-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { orderRequest } from './order-fixtures.ts';

export interface OrderStoreUnderTest {
  readonly orders: OrderStore;
  readonly payments: PaymentStore;
  readonly effects: EffectStore;
  readonly work: UnfinishedWork;
}

const LIMIT = 1_000;

export function describeOrderStore(name: string, make: () => Promise<OrderStoreUnderTest>): void {
  let made = 0;
  let orders: OrderStore;
  let payments: PaymentStore;
  let effects: EffectStore;
  let work: UnfinishedWork;
  let orderId: OrderId;
  let first: OrderTransition;

  beforeEach(async () => {
    ({ orders, payments, effects, work } = await make());
    made += 1;
    ({ orderId } = orderRequest(`order-${process.pid}-${made}`));
    first = firstOf(orderId);
  });

  const paymentId = () => paymentOfOrder(systemDigest, orderId);
  const open = (owner = 'owner-a') =>
    openRecord(paymentId(), { operationId: orderOperation(orderId), owner: ownerToken(owner) });
  const completed = (owner = 'owner-a') =>
    completedRecord(paymentId(), { operationId: orderOperation(orderId), owner: ownerToken(owner) });
  const chain = () => orders.listOrderTransitions(orderId, { afterSequence: 0, limit: LIMIT });
  const entry = (sequence: number): OpenOrder => ({ orderId, createdAtMs: first.occurredAtMs, sequence });
  const queued = async () => (await orders.openOrders(ALL_DUE)).filter((each) => each.orderId === orderId);

  describe(`the ${name} order store`, () => {
    test('claims an order once, and returns every transition unchanged', async () => {
      expect(await orders.claimOrder({ record: open(), first })).toEqual({ kind: 'claimed' });
      expect(await orders.claimOrder({ record: open('owner-b'), first })).toEqual({
        kind: 'record_exists',
        record: open(),
      });
      const more = nextOrderTransitions(systemDigest, first, draftsOf(first), requestedAt(first.occurredAtMs + 5));
      expect(await orders.appendToOrder({ transitions: more })).toEqual({ kind: 'appended' });
      expect(await chain()).toEqual([first, ...more]);
      expect(firstBrokenOrderLink(systemDigest, await chain())).toBeUndefined();
      expect(await orders.listOrderTransitions(orderId, { afterSequence: 1, limit: 1 })).toEqual([more[0]]);
    });

    test('reports an order whose record was lost, and accepts a new record', async () => {
      await orders.claimOrder({ record: openRecord(paymentId()), first });
      expect(await orders.claimOrder({ record: open('owner-b'), first })).toEqual({ kind: 'transition_exists' });
      expect(await orders.claimOrder({ record: open('owner-b') })).toEqual({ kind: 'claimed' });
      expect(await payments.readRecord(orderOperation(orderId))).toEqual(open('owner-b'));
    });

    test('appends one transition per sequence number, and several transitions completely or not at all', async () => {
      await orders.claimOrder({ record: open(), first });
      const [second, third] = nextOrderTransitions(
        systemDigest,
        first,
        draftsOf(first),
        requestedAt(first.occurredAtMs),
      );
      if (second === undefined || third === undefined) throw new Error('the order has fewer than three transitions');
      await orders.appendToOrder({ transitions: [second] });
      const again = { transitions: [second, third], open: entry(3) };
      expect(await orders.appendToOrder(again)).toEqual({ kind: 'transition_exists' });
      expect(await chain()).toEqual([first, second]);
      expect(await queued()).toEqual([]);
    });

    test('accepts exactly one of ten concurrent appends', async () => {
      await orders.claimOrder({ record: open(), first });
      const transitions = nextOrderTransitions(systemDigest, first, draftsOf(first), requestedAt(first.occurredAtMs));
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => orders.appendToOrder({ transitions })));
      expect(outcomes.filter(({ kind }) => kind === 'appended')).toHaveLength(1);
      expect(await chain()).toHaveLength(3);
    });

    test('commits the response, the transitions and the queue entry atomically, and only for the owner', async () => {
      await orders.claimOrder({ record: open(), first });
      const transitions = nextOrderTransitions(systemDigest, first, draftsOf(first), requestedAt(first.occurredAtMs));
      const commit = { expects: 'open' as const, transitions, open: entry(3) };
      const fenced = await orders.commitOrder({ record: completed('owner-b'), ...commit });
      expect(fenced).toEqual({ kind: 'fenced', record: open() });
      expect([await chain(), await queued()]).toEqual([[first], []]);
      expect(await orders.commitOrder({ record: completed(), ...commit })).toEqual({ kind: 'committed' });
      expect([await chain(), await queued()]).toEqual([[first, ...transitions], [entry(3)]]);
      expect(await payments.readRecord(orderOperation(orderId))).toEqual(completed());
      expect(await work.staleClaims(ALL_DUE)).not.toContainEqual(
        expect.objectContaining({ operationId: orderOperation(orderId) }),
      );
    });

    test('refuses a commit with an occupied sequence number, and leaves the claim unchanged', async () => {
      await orders.claimOrder({ record: open(), first });
      const transitions = nextOrderTransitions(systemDigest, first, draftsOf(first), requestedAt(first.occurredAtMs));
      await orders.appendToOrder({ transitions });
      const outcome = await orders.commitOrder({ record: completed(), expects: 'open', transitions });
      expect(outcome).toEqual({ kind: 'transition_exists' });
      expect(await payments.readRecord(orderOperation(orderId))).toEqual(open());
      expect(await orders.commitOrder({ record: completed(), expects: 'open', transitions: [] })).toEqual({
        kind: 'committed',
      });
    });

    test('commits once if the owner’s record was deleted in the meantime', async () => {
      await orders.claimOrder({ record: openRecord(paymentId()), first });
      const commit = { expects: 'absent' as const, transitions: [] };
      expect(await orders.commitOrder({ record: completed(), ...commit })).toEqual({ kind: 'committed' });
      expect(await orders.commitOrder({ record: completed('owner-b'), ...commit })).toEqual({
        kind: 'fenced',
        record: completed(),
      });
    });

    test('lists an open claim of an order among the stale claims, and allows its takeover and release', async () => {
      await orders.claimOrder({ record: open(), first });
      const stale = open();
      expect(await work.staleClaims({ ...ALL_DUE, untilMs: stale.leaseExpiresAtMs })).toContainEqual(stale);
      const owner = ownerToken('owner-c');
      const leaseExpiresAtMs = stale.leaseExpiresAtMs + 25_000;
      expect(await payments.takeOver({ stale, owner, leaseExpiresAtMs })).toEqual({ kind: 'taken' });
      await payments.release(orderOperation(orderId), owner);
      expect(await payments.readRecord(orderOperation(orderId))).toMatchObject({ released: true, owner });
    });

    test('closes a queue entry only if it is unchanged since it was read', async () => {
      await orders.claimOrder({ record: open(), first });
      await orders.commitOrder({ record: completed(), expects: 'open', transitions: [], open: entry(1) });
      const transitions = nextOrderTransitions(systemDigest, first, draftsOf(first), requestedAt(first.occurredAtMs));
      await orders.appendToOrder({ transitions, open: entry(3) });
      await orders.closeOrder(entry(1));
      expect(await queued()).toEqual([entry(3)]);
      await orders.closeOrder(entry(3));
      await orders.closeOrder(entry(3));
      expect(await queued()).toEqual([]);
    });

    test('postpones a queue entry only if it is unchanged since it was read', async () => {
      await orders.claimOrder({ record: open(), first });
      await orders.commitOrder({ record: completed(), expects: 'open', transitions: [], open: entry(3) });
      const dueAtMs = first.occurredAtMs + 10 * 24 * 60 * 60_000;
      const dueBefore = async (untilMs: number) =>
        (await orders.openOrders({ untilMs, limit: ALL_DUE.limit })).filter((each) => each.orderId === orderId);
      expect(await dueBefore(dueAtMs - 1)).toEqual([entry(3)]);
      await orders.postponeOrder(entry(1), dueAtMs);
      expect(await dueBefore(dueAtMs - 1)).toEqual([entry(3)]);
      await orders.postponeOrder(entry(3), dueAtMs);
      expect([await dueBefore(dueAtMs - 1), await dueBefore(dueAtMs)]).toEqual([[], [entry(3)]]);
    });

    test('reopens an order together with a transition of its payment; a worker with an older entry cannot close the order', async () => {
      await orders.claimOrder({ record: open(), first });
      const pending = pendingTransition(paymentId());
      await payments.claim({ record: openRecord(paymentId()), pending });
      await orders.commitOrder({ record: completed(), expects: 'open', transitions: [], open: entry(1) });
      const nowMs = first.occurredAtMs + 1;
      const effectOf = (event: string, sequence: number) => ({
        record: {
          operationId: callbackOperation(systemDigest, 'memory', `${event}-${orderId}`),
          paymentId: paymentId(),
          owner: ownerToken('owner-b'),
          recordedAtMs: nowMs,
        },
        transitions: [outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' })],
        reopened: { orderId, createdAtMs: nowMs, sequence },
      });
      const effect = effectOf('evt', nowMs);
      const { reopened } = effect;
      expect(await effects.recordEffect(effect)).toEqual({ kind: 'recorded' });
      // The transition exists, so this effect reopens nothing.
      expect(await effects.recordEffect(effectOf('late', nowMs + 1))).toEqual({ kind: 'transition_exists' });
      expect(await effects.listTransitions(paymentId(), { afterSequence: 1, limit: LIMIT })).toEqual(
        effect.transitions,
      );
      await orders.closeOrder(entry(1));
      expect(await queued()).toEqual([reopened]);
      await orders.closeOrder(reopened);
      expect(await queued()).toEqual([]);
    });

    test('creates no payment and no charge record when it claims an order', async () => {
      await orders.claimOrder({ record: open(), first });
      expect(await payments.readPayment(paymentId())).toBeUndefined();
      expect(await payments.readRecord(chargeOperation(paymentId()))).toBeUndefined();
    });
  });
}

export function firstOf(orderId: OrderId): OrderTransition {
  const { tenantId, mode, amountMinor, currency, source, items, email, referrer } = orderRequest('any');
  const createdAtMs = openRecord(paymentOfOrder(systemDigest, orderId)).claimedAtMs;
  const paymentId = paymentOfOrder(systemDigest, orderId);
  const order = { id: orderId, tenantId, mode, amountMinor, currency, paymentId, createdAtMs };
  const contacts = { email, ...(referrer ? { referrer } : {}) };
  const seal = sealOf(systemDigest, contacts, new Uint8Array(16));
  const details = { requestId: 'req-1', source, items, ...contacts, ...seal };
  return firstOrderTransition(systemDigest, createOrderDraft(order, referrer), details, requestedAt(createdAtMs));
}

/** Together, the drafts have every field of an order. */
export function draftsOf({ order }: OrderTransition): readonly OrderDraft[] {
  const sinceMs = order.createdAtMs;
  const reserved = { ...order, reservation: { status: 'reserved' as const, sinceMs, reservationId: 'rsv_1' } };
  const failure = { code: 'stock_unavailable', message: 'The outcome is unknown.' };
  return [
    { type: 'reservation.succeeded', order: reserved },
    {
      type: 'reversal.pending',
      order: {
        ...reserved,
        charge: { status: 'reversing', sinceMs, attempt: 2 },
        failure,
        failedAtMs: sinceMs,
        answered: true,
      },
    },
  ];
}
