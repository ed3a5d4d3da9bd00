import { describe, expect, test } from '@jest/globals';
import { createClient } from '../../client/client.ts';
import { isProblem, UnfinishedError } from '../../client/errors.ts';
import { memoryKeys } from '../../client/key-store.ts';
import { API_KEY, Api } from '../world/api.ts';
import { allOf, clientOn, errorOf, TEA } from './client-world.ts';

describe('waiting for an outcome', () => {
  test('ends when a callback settles a payment whose first response was 202', async () => {
    const api = new Api();
    const { client } = clientOn(api, {
      sleep: async (ms) => {
        await api.clock.sleep(ms);
        await api.world.processor.inside.approve(String(begun.processor?.charge_id));
        await api.world.resolve();
      },
    });
    const begun = await client.payments.create({ ...TEA, source: 'tok_async' }, { operation: 'order_42' });
    expect(begun.status).toBe('processing');
    expect(await client.payments.wait(begun.id)).toMatchObject({ id: begun.id, status: 'succeeded' });
    // The stored response of the operation does not change.
    expect(await client.payments.create({ ...TEA, source: 'tok_async' }, { operation: 'order_42' })).toEqual(begun);
  });

  test('throws an error with the current payment when the waiting time is over', async () => {
    const api = new Api();
    const { client } = clientOn(api);
    const { id } = await client.payments.create({ ...TEA, source: 'tok_async' }, { operation: 'order_42' });
    const error = await errorOf(client.payments.wait(id, { timeoutMs: 5_000 }));
    expect(error instanceof UnfinishedError && error.object).toMatchObject({ id, status: 'processing' });
  });

  test('ends when the payment needs an action of the payer', async () => {
    const { client } = clientOn(new Api());
    const { id } = await client.payments.create({ ...TEA, source: 'tok_action' }, { operation: 'order_42' });
    const waiting = await client.payments.wait(id);
    expect(waiting.status).toBe('requires_action');
    expect(waiting.next_action?.url).toMatch(/^http/);
  });
});

describe('the resources of the client', () => {
  test('make a capture, a cancellation and a refund once each', async () => {
    const { client } = clientOn(new Api());
    const hold = { ...TEA, capture: 'manual' } as const;
    const one = await client.payments.create(hold, { operation: 'hold_1' });
    const two = await client.payments.create(hold, { operation: 'hold_2' });
    const capture = () => client.payments.capture(one.id, { amount: 700 }, { operation: 'capture_1' });
    const cancel = () => client.payments.cancel(two.id, { operation: 'cancel_2' });
    const refund = () => client.payments.refund(one.id, { amount: 300 }, { operation: 'refund_1' });

    expect(await capture()).toMatchObject({ amount_captured: 700 });
    expect(await capture()).toMatchObject({ amount_captured: 700 });
    expect(await cancel()).toMatchObject({ status: 'canceled' });
    expect(await cancel()).toMatchObject({ status: 'canceled' });
    const refunded = await refund();
    expect(await refund()).toEqual(refunded);
    expect(await client.refunds.wait(refunded.id)).toMatchObject({ amount: 300, status: 'succeeded' });
    const listed = await allOf(client.payments.refunds(one.id));
    expect(listed.map(({ id }) => id)).toEqual([refunded.id]);
    expect(await client.payments.retrieve(one.id)).toMatchObject({ amount_captured: 700, amount_refunded: 300 });
    const types = (await allOf(client.payments.transitions(one.id))).map(({ type }) => type);
    expect(types).toHaveLength(new Set(types).size);
  });

  test('create an order once; an order without stock throws an error that contains the order', async () => {
    const { client } = clientOn(new Api());
    const tea = { ...TEA, items: [{ sku: 'sku_tea', quantity: 2 }], email: 'ada@example.com' };
    const made = await client.orders.create(tea, { operation: 'order_1' });
    expect(await client.orders.wait(made.id)).toMatchObject({ status: 'completed', payment: made.payment });
    const none = { ...tea, items: [{ sku: 'sku_none', quantity: 1 }] };
    const error = await errorOf(client.orders.create(none, { operation: 'order_2' }));
    expect(isProblem(error, 'out_of_stock') && error.problem.order?.status).toBe('canceled');
  });

  test('create and delete a webhook endpoint once each, update it, and rotate its secret', async () => {
    const { client } = clientOn(new Api());
    const create = () =>
      client.webhookEndpoints.create({ url: 'https://shop.co.uk/hooks', events: ['*'] }, { operation: 'hooks' });
    const made = await create();
    expect(await create()).toEqual(made);
    const rotated = await client.webhookEndpoints.rotateSecret(made.id, {}, { operation: 'rotate' });
    expect(rotated.secret).not.toBe(made.secret);
    expect(await client.webhookEndpoints.update(made.id, { enabled: false })).toMatchObject({ enabled: false });
    expect(await allOf(client.webhookEndpoints.list())).toHaveLength(1);
    const deleted = () => client.webhookEndpoints.delete(made.id, { operation: 'delete' });
    expect(await deleted()).toMatchObject({ deleted: true });
    expect(await deleted()).toMatchObject({ deleted: true });
    expect(await allOf(client.webhookEndpoints.list())).toEqual([]);
  });

  test.each([1, 3, 100])('list every payment once, newest first, with pages of size %d', async (limit) => {
    const api = new Api();
    const { client } = clientOn(api);
    const ids: string[] = [];
    for (let each = 0; each < 7; each += 1) {
      ids.unshift((await client.payments.create(TEA, { operation: `order_${each}` })).id);
      api.clock.advance(1_000);
    }
    const listed = await allOf(client.payments.list({ limit }));
    expect(listed.map(({ id }) => id)).toEqual(ids);
  });

  test.each(['', '..', undefined])('refuse the id %j', (id) => {
    const { client } = clientOn(new Api());
    expect(() => client.payments.retrieve(id as string)).toThrow(TypeError);
  });

  test('do not let an id change the request path', async () => {
    const { client, sent } = clientOn(new Api());
    await errorOf(client.payments.retrieve('../orders/ord_1?x=1'));
    expect(new URL(String(sent[0]?.url)).pathname).toBe('/v1/payments/..%2Forders%2Ford_1%3Fx%3D1');
  });

  test.each<[string, unknown, RegExp]>([
    ['options', undefined, /needs url/],
    ['url', { keys: memoryKeys() }, /needs url, the address of the API/],
    ['keys', { url: 'https://api.example' }, /needs keys, which store each request/],
    ['key', { url: 'https://api.example', keys: memoryKeys(), apiKey: '' }, /apiKey must consist of/],
  ])('name the missing %s in a sentence', (_what, options, sentence) => {
    const create = () => createClient(options as Parameters<typeof createClient>[0]);
    expect(create).toThrow(TypeError);
    expect(create).toThrow(sentence);
  });

  test.each([
    'not an address',
    'ftp://api.example',
    'https://api.example/?a=1',
    'https:api.example',
    String.raw`https:\\api.example`,
  ])('refuse the address %s', (url) => {
    expect(() => createClient({ url, apiKey: API_KEY, keys: memoryKeys() })).toThrow(TypeError);
  });
});
