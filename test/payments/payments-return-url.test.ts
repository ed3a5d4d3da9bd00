import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ChargeOrder } from '../../lambdas/payments/use/processor.ts';
import { Api, as, LIVE_KEY } from '../world/api.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';

const PAGE = 'https://shop.example/done?order=secret-1';

let behind: Api;
let orders: ChargeOrder[];
let harness: Api;

beforeEach(() => {
  behind = new Api();
  const { processor, store, clock } = behind;
  orders = [];
  harness = new Api({
    store,
    clock,
    processor: {
      ...processor,
      charge: (order, limit) => {
        orders.push(order);
        return processor.charge(order, limit);
      },
    },
  });
});

const pay = (return_url: unknown, key = 'k') => harness.pay(key, { source: 'tok_action', return_url });

describe('a return URL', () => {
  test('is passed to the processor and shown on the payment', async () => {
    const reply = await pay(PAGE);
    expect(reply).toMatchObject({ status: 202, body: { status: 'requires_action', return_url: PAGE } });
    expect(orders).toMatchObject([{ returnUrl: PAGE }]);
    expect((await harness.get(`/v1/payments/${String(reply.body['id'])}`)).body).toMatchObject({ return_url: PAGE });
  });

  test('is absent from the payment and from the charge order if the request has none', async () => {
    expect((await harness.pay('k', { source: 'tok_action' })).body).not.toHaveProperty('return_url');
    expect(orders[0]).not.toHaveProperty('returnUrl');
  });

  test('is included in the request fingerprint', async () => {
    await pay(PAGE);
    expect((await pay('https://shop.example/other')).body).toMatchObject({ code: 'idempotency_key_payload_mismatch' });
    expect(orders).toHaveLength(1);
  });

  test('is not logged', async () => {
    await pay(PAGE);
    await pay('http://shop.example/secret-1', 'refused');
    expect(JSON.stringify([harness.reports, harness.faults])).not.toContain('secret-1');
  });

  test.each(['http://localhost:3000/done', 'http://127.0.0.1/done', 'http://[::1]:3000/done'])(
    'is accepted in test mode and refused in live mode if it is the loopback address %s',
    async (url) => {
      expect((await pay(url)).status).toBe(202);
      const processor = createSandboxInProcess({ clock: behind.clock, mode: 'live' });
      const live = new Api({ processor });
      live.registerKey(LIVE_KEY, { mode: 'live' });
      const asked = as(LIVE_KEY);
      expect(await live.pay('https', { return_url: PAGE }, asked)).toMatchObject({ status: 201 });
      expect(await live.pay('k', { return_url: url }, asked)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request', param: 'return_url', detail: expect.stringContaining('live mode') },
      });
      expect(processor.inside.all).toHaveLength(1);
    },
  );

  test.each([
    ['plain http', 'http://shop.example/done'],
    ['another scheme', 'javascript:alert(1)'],
    ['a host that only starts like loopback', 'http://localhost.example/done'],
    ['a name and a password', 'https://ada:secret@shop.example/done'],
    ['a relative address', '/done'],
    ['a line break', 'https://shop.example/\ndone'],
    ['an empty string', ''],
    ['a number', 7],
    ['more than 1024 characters', `https://shop.example/${'a'.repeat(1004)}`],
  ])('is refused, the error names the field, and nothing is charged: %s', async (_what, url) => {
    const reply = await pay(url);
    expect(reply).toMatchObject({ status: 400, body: { code: 'invalid_request', param: 'return_url' } });
    expect(reply.body['detail']).toMatch(/^return_url must be /);
    expect(orders).toEqual([]);
  });
});
