import { beforeEach, describe, expect, test } from '@jest/globals';
import { ALL_DUE } from '../support/due.ts';
import { World } from '../world/world.ts';
import { answerOf, orderRequest } from './order-fixtures.ts';

let harness: World;
beforeEach(() => {
  harness = new World();
});

describe('a canceled order', () => {
  test.each([
    ['out of stock', { items: [{ sku: 'sku_none', quantity: 1 }] }],
    ['with a declined charge', { source: 'tok_declined' }],
  ])('shows no pending e-mail or credit: %s', async (_name, fields) => {
    const request = orderRequest('canceled', fields);
    const { body } = answerOf(await harness.order(request));
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
    const { order } = body as { order: { status: string; notifications: { email: string }; referral: string } };
    expect(order.status).toBe('canceled');
    expect([order.notifications.email, order.referral]).toEqual(['none', 'none']);
  });
});
