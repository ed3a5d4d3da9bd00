import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { detailsKey } from '../../../../lambdas/once/store/details-rows.ts';
import type { Order, OrderTransitionType } from '../../../../lambdas/orders/domain/order.ts';
import { nextOrderTransitions } from '../../../../lambdas/orders/domain/order-transition.ts';
import { paymentOfOrder } from '../../../../lambdas/orders/ids.ts';
import type { CreatePayment } from '../../../../lambdas/payments/use/create-payment.ts';
import { orderRequest } from '../../../orders/order-fixtures.ts';
import { callback, change, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { BY_REQUEST } from '../../../support/causes.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const ORACLE = 'commissions follow the money';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

let harness: World;
let world: ReturnType<typeof watched>;
let request: CreatePayment;
let releasesAtMs: number;
beforeEach(async () => {
  harness = new World();
  world = watched(harness);
  request = paymentRequest('commissioned');
  await harness.pay(request);
  harness.clock.advance(MINUTE_MS);
  releasesAtMs = harness.clock.nowMs() + 30 * DAY_MS;
});

const refund = (amountMinor: number) => harness.change(change(request, 'part', { kind: 'refund', amountMinor }));

async function write(
  status: string,
  amountMinor: number,
  about: { sk?: string; payment?: string } = {},
): Promise<void> {
  harness.clock.advance(MINUTE_MS);
  const { paymentId, tenantId, mode } = request;
  const key = { pk: `${RegistryRow.commission}${tenantId}#${mode}#aff_friend`, sk: paymentId };
  const Item = {
    ...key,
    payment: paymentId,
    ...about,
    amountMinor,
    currency: 'EUR',
    status,
    releasesAtMs,
    sequence: 1,
  };
  await harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
}

const wrong = () => world.all().flatMap(({ oracle, what }) => (oracle === ORACLE ? [what] : []));

describe('a commission', () => {
  test('must be a tenth of the amount that the merchant keeps', async () => {
    await refund(205);
    await write('locked', 79);
    expect(wrong()).toEqual([]);
    await write('released', 79);
    expect(wrong()).toEqual([]);
  });

  test('must not include a share of the refunded amount', async () => {
    await refund(205);
    await write('released', 100);
    expect(wrong()).toEqual(['100 was released, but 79 was due']);
  });

  test('must not change after its release', async () => {
    await write('released', 100);
    await refund(500);
    expect(wrong()).toEqual([]);
    await write('locked', 50);
    expect(wrong()).toEqual(['the commission was changed after its release']);
  });

  test('must not be released while a dispute is open', async () => {
    const charge = harness.chargeOf(request);
    await harness.processor.inside.dispute(charge, 400);
    await harness.deliver(callback('opened', charge));
    await write('released', 100);
    expect(wrong()).toEqual(['the commission was released during a pending refund or an open dispute']);
  });

  test('must not be canceled while the merchant keeps money', async () => {
    await write('canceled', 0);
    expect(wrong()).toEqual(['the commission is canceled, but 100 is due']);
  });

  test('must not stay locked after its lock period', async () => {
    await write('locked', 100);
    harness.clock.advance(33 * DAY_MS);
    expect(wrong()).toEqual(['the commission is still locked after its lock period']);
  });

  test('must exist if the payment request named an affiliate', () => {
    const { paymentId } = request;
    const body = { amount: 1000, metadata: { affiliate: 'aff_friend' } };
    const answer = { status: 201, headers: {}, body: JSON.stringify({ id: paymentId }), atMs: 2 };
    world.calls.push({ step: 1, tenant: 'acme', method: 'POST', path: '/v1/payments', body, sentAtMs: 1, answer });
    expect(wrong()).toEqual(['the request named an affiliate, but there is no commission']);
  });
});

describe('the commission of an order', () => {
  const order = orderRequest('commissioned', { affiliate: 'aff_friend' });
  const paymentId = paymentOfOrder(systemDigest, order.orderId);
  const about = { sk: order.orderId, payment: paymentId };

  async function become(type: OrderTransitionType, status: Order['status']): Promise<void> {
    const newest = (await harness.transitions(order.orderId)).at(-1);
    if (newest === undefined) throw new Error('the order does not exist');
    const drafts = [{ type, order: { ...newest.order, status } }];
    const occasion = { occurredAtMs: harness.clock.nowMs(), cause: BY_REQUEST };
    const transitions = nextOrderTransitions(systemDigest, newest, drafts, occasion);
    await harness.store.appendToOrder({ transitions });
  }

  beforeEach(async () => {
    await harness.order(order);
  });

  test('must not be canceled while the merchant keeps a part of the payment, unless the order is erased and in review', async () => {
    await write('canceled', 0, about);
    await become('order.review_required', 'needs_review');
    expect(wrong()).toEqual(['the commission is canceled, but 200 is due']);
    const { client } = harness.store.database;
    await client.send(new DeleteCommand({ TableName: TABLES.registry, Key: detailsKey(paymentId) }));
    expect(wrong()).toEqual([]);
  });

  test('may stay pending after its lock period only while its order is in review and nothing is due', async () => {
    await write('pending', 200, about);
    await become('order.review_required', 'needs_review');
    harness.clock.advance(33 * DAY_MS);
    expect(wrong()).toEqual(['the commission is pending, but 200 is due']);
    await harness.change(
      change({ ...request, tenantId: order.tenantId, paymentId }, 'back', { kind: 'refund', amountMinor: 2_000 }),
    );
    expect(wrong()).toEqual([]);
    await become('order.canceled', 'canceled');
    expect(wrong()).toEqual(['the commission is still pending after its lock period']);
  });

  test('must not be released while the order is in review', async () => {
    await become('order.review_required', 'needs_review');
    await write('released', 200, about);
    expect(wrong()).toEqual(['the commission was released, but its order was needs_review']);
  });
});
