/** Tests the staff notes of canceled orders. The staff of a BigCommerce store read them to decide whether to ship. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { receiveCallback } from '../../lambdas/callbacks/receive-callback.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { makeAgain } from '../../lambdas/orders/parties/make-again.ts';
import type { CreateOrder } from '../../lambdas/orders/use/create-order.ts';
import type { StockKeeper } from '../../lambdas/orders/use/order-parties.ts';
import type { OnGivenUp } from '../../lambdas/outbound/outbound-calls.ts';
import type { DeadLetter } from '../../lambdas/outbound/use/dead-letters.ts';
import { World } from '../world/world.ts';
import { type BigCommerceDouble, serveBigCommerce } from './bigcommerce-double.ts';
import { connectBigCommerce } from './connected-bigcommerce.ts';
import { orderRequest } from './order-fixtures.ts';

let world: World;
let server: BigCommerceDouble;
let deadLetters: DeadLetter[];

beforeEach(async () => {
  world = new World();
  server = await serveBigCommerce();
  deadLetters = [];
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
});

function bigCommerce(givenUp: OnGivenUp = 'delay'): StockKeeper {
  const { clock, store } = world;
  const keep = { put: async (deadLetter: DeadLetter) => void deadLetters.push(deadLetter) };
  const claims = store.sendingClaims('stock');
  return connectBigCommerce({ server, clock, claims, deadLetters: keep, timeoutMs: 5_000, givenUp });
}

const taken = () => server.adjustments.map(({ items }) => items[0]?.quantity);

test('an order whose stock service did not respond in time gets no note that it is paid, and its goods are released', async () => {
  const away = () => Promise.reject(new RetryableError('stock_unreachable', 'The store is unreachable.'));
  const stock = { reserve: away, release: away };
  const request = orderRequest('given-up', { shopOrder: 118 });
  await world.order(request, { stock });
  await world.resolveFor(76, { stock });
  expect(await world.read(request)).toMatchObject({ failure: { code: 'stock_unavailable' } });
  expect(world.keptMinor(request)).toBe(0);
  await world.resolveFor(30, { stock: bigCommerce() });
  expect(await world.read(request)).toMatchObject({ status: 'canceled', reservation: { status: 'released' } });
  // Whether the first attempt reserved is unknown, so the reservation is repeated under the same key, and then
  // released. Here, the repetition makes the reservation.
  expect(taken()).toEqual([-2, 2]);
  expect(server.notes.get(118)).toBe('Gift wrap');
});

/**
 * After the reservation and before the order is completed, the merchant refunds the payment in the processor's
 * dashboard.
 */
function refundedAfterReserve(request: CreateOrder): StockKeeper {
  const store = bigCommerce();
  return {
    reserve: async (order, limit) => {
      const reserved = await store.reserve(order, limit);
      const chargeId = world.chargeOf({ paymentId: paymentOfOrder(systemDigest, request.orderId) });
      await world.processor.inside.refund(chargeId, 2_000);
      await receiveCallback(
        { ...world.tools, effects: world.store, books: world.processor },
        { processorName: 'sandbox', mode: 'test', eventId: 'refunded', type: 'charge.changed', chargeId },
      );
      return reserved;
    },
    release: (reservation, limit) => store.release(reservation, limit),
  };
}

test('an order that is canceled after its note gets a second note about the cancellation', async () => {
  const request = orderRequest('noted', { shopOrder: 118 });
  const stock = refundedAfterReserve(request);
  await world.order(request, { stock });
  await world.resolveFor(3, { stock });
  expect([world.keptMinor(request), (await world.read(request)).status]).toEqual([0, 'canceled']);
  expect(taken()).toEqual([-2, 2]);
  const paid = `Gift wrap\nPayonce ${request.orderId}: paid, stock t-1`;
  expect(server.notes.get(118)).toBe(`${paid}\nPayonce ${request.orderId}: canceled`);
});

test('the dead letter of a note has no effect after the order was canceled', async () => {
  const request = orderRequest('refunded', { shopOrder: 7 });
  const stock = refundedAfterReserve(request);
  await world.order(request, { stock });
  await world.resolveFor(3, { stock });
  const [deadLetter] = deadLetters;
  expect(deadLetter).toMatchObject({ operation: 'order.note', about: request.orderId });
  if (deadLetter === undefined) throw new Error('there is no dead letter');
  expect([world.keptMinor(request), (await world.read(request)).status]).toEqual([0, 'canceled']);
  server.notes.set(7, '');
  const none = () => Promise.reject(new Error('none'));
  const parties = {
    ...world.tools,
    emails: { sendEmail: none },
    referrals: { credit: none },
    stock: bigCommerce('throw'),
  };
  await makeAgain(parties, JSON.parse(JSON.stringify(deadLetter)) as DeadLetter, { timeoutMs: 10_000 }, 'letter-1');
  expect(server.notes.get(7)).toBe('');
});
