import { beforeEach, describe, expect, test } from '@jest/globals';
import { emptyBooks } from '../world/sandbox-books.ts';
import { callSandbox } from './sandbox-calls.ts';
import { errorIn, sandboxHarness } from './sandbox-harness.ts';
import { createTestSandbox, type SandboxHandler } from './sandbox-world.ts';
import { describeShop } from './shop-suite.ts';

describeShop('memory', async () => emptyBooks());

describe('the shop’s request validation:', () => {
  let handler: SandboxHandler;
  let harness: ReturnType<typeof sandboxHarness>;

  beforeEach(() => {
    ({ handler } = createTestSandbox());
    harness = sandboxHarness(handler);
  });

  const items = [{ sku: 'sku_tea', quantity: 1 }];
  const credit = { order: 'o', referrer: 'ref_friend', amount: 500, currency: 'EUR' };

  test.each([
    ['a missing order', '/stock/reservations', { items }, 'order'],
    ['an empty order', '/stock/reservations', { order: '', items }, 'order'],
    ['an empty list of items', '/stock/reservations', { order: 'o', items: [] }, 'items'],
    ['101 items', '/stock/reservations', { order: 'o', items: Array<unknown>(101).fill(items[0]) }, 'items'],
    ['a quantity of zero', '/stock/reservations', { order: 'o', items: [{ sku: 's', quantity: 0 }] }, 'quantity'],
    ['half an item', '/stock/reservations', { order: 'o', items: [{ sku: 's', quantity: 0.5 }] }, 'quantity'],
    ['an unknown field', '/stock/reservations', { order: 'o', items, extra: 1 }, 'extra'],
    ['a missing referrer', '/referrals/credits', { ...credit, referrer: undefined }, 'referrer'],
    ['an amount of zero', '/referrals/credits', { ...credit, amount: 0 }, 'amount'],
    ['an amount in text', '/referrals/credits', { ...credit, amount: '5' }, 'amount'],
    ['a currency in lower case', '/referrals/credits', { ...credit, currency: 'eur' }, 'currency'],
    ['an unknown field of a credit', '/referrals/credits', { ...credit, extra: 1 }, 'extra'],
    ['a release with a body', '/stock/reservations/rsv_1/release', { quantity: 1 }, 'quantity'],
  ])('%s is rejected with 400 and the field’s name', async (_what, path, body, field) => {
    const answer = await harness.post(path, body, 'k');
    expect(answer.status).toBe(400);
    expect(errorIn(answer)).toEqual({ code: 'invalid_request', message: expect.stringContaining(field) });
  });

  test('a key with a space gets a 400', async () => {
    expect((await harness.post('/referrals/credits', credit, 'a b')).status).toBe(400);
  });

  test.each([
    ['DELETE', '/stock/reservations', 'GET, POST'],
    ['GET', '/stock/reservations/rsv_1/release', 'POST'],
    ['PUT', '/referrals/credits', 'GET, POST'],
  ])('%s %s gets a 405 with the allowed methods', async (method, path, allow) => {
    const answer = await callSandbox(handler, { method, path });
    expect([answer.status, errorIn(answer).code]).toEqual([405, 'method_not_allowed']);
    expect(answer.headers['allow']).toBe(allow);
  });
});
