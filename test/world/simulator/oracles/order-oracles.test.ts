import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { receiveCallback } from '../../../../lambdas/callbacks/receive-callback.ts';
import { ViewsRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import type { Order, OrderTransitionType } from '../../../../lambdas/orders/domain/order.ts';
import { nextOrderTransitions } from '../../../../lambdas/orders/domain/order-transition.ts';
import { orderStepOperation, paymentOfOrder } from '../../../../lambdas/orders/ids.ts';
import { orderRequest } from '../../../orders/order-fixtures.ts';
import { callback } from '../../../payments/payment-fixtures.ts';
import { BY_REQUEST } from '../../../support/causes.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import type { ShopAction } from '../contract.ts';
import { watched } from './watched.ts';

const MINUTE_MS = 60_000;

let harness: World;
let world: ReturnType<typeof watched>;
const request = orderRequest('watched');
const { orderId } = request;
beforeEach(async () => {
  harness = new World();
  world = watched(harness);
  await harness.order(request);
});

function deed(kind: ShopAction['kind']): ShopAction {
  const step = kind === 'credited' ? 'credit' : 'reserve';
  const key = orderStepOperation(systemDigest, step, orderId);
  return { kind, key, order: { amount: 100, currency: 'EUR' }, atMs: harness.clock.nowMs() };
}

const mail = () => ({ to: 'a@b.c', subject: `Your order ${orderId}`, metadata: {}, atMs: harness.clock.nowMs() });

async function become(type: OrderTransitionType, changes: Partial<Order>): Promise<void> {
  const newest = (await harness.transitions(orderId)).at(-1);
  if (newest === undefined) throw new Error('the order does not exist');
  const drafts = [{ type, order: { ...newest.order, ...changes } }];
  const occasion = { occurredAtMs: harness.clock.nowMs(), cause: BY_REQUEST };
  await harness.store.appendToOrder({ transitions: nextOrderTransitions(systemDigest, newest, drafts, occasion) });
}

async function disputed(amountMinor = 2_000): Promise<void> {
  const [charge] = harness.processor.charges(paymentOfOrder(systemDigest, orderId));
  await harness.processor.inside.dispute(charge?.chargeId ?? '', amountMinor);
  const tools = { ...harness.tools, effects: harness.store, books: harness.processor };
  await receiveCallback(tools, callback('opened', charge?.chargeId ?? ''));
  harness.clock.advance(5 * MINUTE_MS);
}

test('a receipt must not be sent after all money of the payment was refunded or disputed', async () => {
  const receipt = () => ({
    to: 'a@b.c',
    subject: 'Your receipt',
    metadata: { payment: paymentOfOrder(systemDigest, orderId) },
    atMs: harness.clock.nowMs(),
  });
  harness.clock.advance(1);
  world.mails.push(receipt());
  expect(world.atTheEnd()).not.toContain('I10 no goods for money that is gone');
  await disputed();
  world.mails.push(receipt());
  expect(world.atTheEnd()).toContain('I10 no goods for money that is gone');
});

test('a completed order with goods, e-mail and credit violates no oracle', () => {
  world.shop.push(deed('reserved'), deed('credited'));
  world.mails.push(mail());
  expect(world.atTheEnd()).toEqual([]);
});

test('the credit of an order must be the correct share of its amount', () => {
  world.shop.push(deed('reserved'), { ...deed('credited'), order: { amount: 1_000, currency: 'EUR' } });
  world.mails.push(mail());
  expect(world.atTheEnd()).toEqual(['a credit is the share of its order']);
});

describe('an order', () => {
  test.each(['reserved', 'credited'] as const)('must not cause the shop action “%s” twice', (kind) => {
    world.shop.push(deed(kind), deed(kind));
    expect(world.atTheEnd()).toContain('order effects happen once');
  });

  test('must not cause two e-mails', () => {
    world.mails.push(mail(), mail());
    expect(world.atTheEnd()).toContain('order effects happen once');
  });

  test.each([2_000, 1])('must get no goods after %i of 2000 cents are disputed', async (amountMinor) => {
    world.shop.push(deed('credited'));
    world.mails.push(mail());
    await disputed(amountMinor);
    world.shop.push(deed('reserved'));
    expect(world.atTheEnd()).toEqual(['I10 no goods for money that is gone']);
  });

  test('must not record its e-mail as failed if the e-mail was sent', async () => {
    world.shop.push(deed('reserved'), deed('credited'));
    world.mails.push(mail());
    await become('email.failed', { email: { status: 'failed', sinceMs: 0 } });
    expect(world.atTheEnd()).toEqual(['F30 settled or undone']);
  });

  test.each(['credited', 'none'] as const)(
    'must show whether its credit was given (wrongly shown as %s)',
    async (status) => {
      world.shop.push(deed('reserved'), ...(status === 'none' ? [deed('credited')] : []));
      world.mails.push(mail());
      await become('referral.credited', { referral: { status, sinceMs: 0 } });
      expect(world.atTheEnd()).toEqual(['F30 settled or undone']);
    },
  );

  test('must not be completed without goods', () => {
    world.shop.push(deed('credited'));
    world.mails.push(mail());
    expect(world.atTheEnd()).toEqual(['F30 settled or undone']);
  });

  test('keeps its goods after the release of a different reservation, even if one reservation id is a prefix of the other', async () => {
    world.shop.push(deed('reserved'), deed('credited'));
    world.mails.push(mail());
    const { reservationId } = (await harness.transitions(orderId)).at(-1)?.order.reservation ?? {};
    const released = (id: string | undefined) => ({ ...deed('released'), order: { reservationId: id } });
    world.shop.push(released(`${reservationId}1`));
    expect(world.atTheEnd()).toEqual([]);
    world.shop.push(released(reservationId));
    expect(world.atTheEnd()).toEqual(['F30 settled or undone']);
  });

  test('must not keep money or goods after its cancellation', async () => {
    world.shop.push(deed('reserved'), deed('credited'));
    world.mails.push(mail());
    await become('order.canceled', { status: 'canceled' });
    const found = world.all().filter(({ oracle }) => oracle === 'F30 settled or undone');
    expect(found.map(({ what }) => what)).toEqual([
      'is canceled, but its goods are still reserved',
      'is canceled, but 2000 was not returned',
    ]);
  });

  test('may keep money after its cancellation if a mismatch was reported', async () => {
    await become('order.canceled', { status: 'canceled' });
    const kept = () => world.all().filter(({ what }) => what === 'is canceled, but 2000 was not returned').length;
    expect(kept()).toBe(1);
    const body = JSON.stringify({ status: 'confirmed', paymentId: paymentOfOrder(systemDigest, orderId) });
    const Item = { pk: ViewsRow.allMismatches, sk: 'a', chain: 'a', sequence: 1, body };
    await harness.store.database.client.send(new PutCommand({ TableName: TABLES.views, Item }));
    expect(kept()).toBe(0);
  });

  test('must be in the queue of open orders until it is finished', async () => {
    await become('order.processing', { status: 'processing' });
    expect(world.now()).toEqual(['unfinished work is queued']);
  });

  test('need not be in the queue of open orders during a long review of its payment, but must be during a review of its reversal', async () => {
    const charge = (status: 'review' | 'reversal_failed') => ({ charge: { status, sinceMs: 0 } });
    await become('order.review_required', { status: 'needs_review', ...charge('review') });
    harness.clock.advance(30 * 24 * 3_600_000);
    expect(world.now()).toEqual([]);
    await become('reversal.failed', { status: 'needs_review', ...charge('reversal_failed') });
    expect(world.now()).toEqual(['unfinished work is queued']);
  });

  test('must not stay in review after the decision about its payment', async () => {
    world.shop.push(deed('reserved'), deed('credited'));
    world.mails.push(mail());
    await become('order.review_required', { status: 'needs_review', charge: { status: 'review', sinceMs: 0 } });
    expect(world.all().map(({ what }) => what)).toContain('is in review, but its payment is no longer in review');
  });

  test('must raise an alarm when it needs an operator', async () => {
    await become('order.review_required', { status: 'needs_review', failedAtMs: harness.clock.nowMs() });
    expect(world.atTheEnd()).toContain('required alarms are raised');
  });
});
