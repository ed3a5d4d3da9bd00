import { describe, expect, test } from '@jest/globals';
import { isProblem, type ProblemError } from '../../client/errors.ts';
import { type KeyStore, memoryKeys, type StoredOperation } from '../../client/key-store.ts';
import { Api, LIVE_KEY, OTHER_KEY } from '../world/api.ts';
import { chargesIn, clientOn, errorOf, TEA } from './client-world.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

describe('an operation', () => {
  test('charges once; every repeated call gets the same response without another request', async () => {
    const api = new Api();
    const { client, keys, sent } = clientOn(api);
    const first = await client.payments.create(TEA, { operation: 'order_42' });
    const again = await client.payments.create({ ...TEA }, { operation: 'order_42' });
    const later = await clientOn(api, {}, keys).client.payments.create(TEA, { operation: 'order_42' });

    expect(first).toMatchObject({ object: 'payment', status: 'succeeded', amount: 1_000 });
    expect([again, later]).toEqual([first, first]);
    expect([sent.length, chargesIn(api)]).toEqual([1, 1]);
  });

  test('charges once when it is started twice concurrently, and both calls get the response', async () => {
    const api = new Api();
    const { client } = clientOn(api);
    const both = await Promise.all([1, 2].map(() => client.payments.create(TEA, { operation: 'order_42' })));

    expect(both[0]).toEqual(both[1]);
    expect(chargesIn(api)).toBe(1);
  });

  test('persists its key and body before sending the request', async () => {
    const api = new Api();
    const { fetch } = { fetch: (url: string, init: RequestInit) => api.fetch(new Request(url, init)) };
    const rows: StoredOperation[] = [];
    const storing: KeyStore = {
      putIfAbsent: async (request) => {
        await Promise.resolve();
        rows.push(request);
        return request;
      },
      keepAnswer: () => undefined,
    };
    const before: unknown[] = [];
    const { client, sent } = clientOn(
      api,
      {
        fetch: (url, init) => {
          before.push({ ...rows.at(-1) });
          return fetch(url, init);
        },
      },
      storing,
    );
    await client.payments.create(TEA, { operation: 'order_42' });

    const [request] = sent;
    expect(before).toEqual([
      {
        operation: 'order_42',
        key: request?.headers.get('idempotency-key'),
        method: 'POST',
        path: '/v1/payments',
        body: await request?.text(),
        mode: 'test',
      },
    ]);
  });

  test.each([
    ['another amount', { ...TEA, amount: 1_001 }, 'amount'],
    ['a further field', { ...TEA, description: 'Tea' }, 'description'],
    ['a missing field', { amount: 1_000, currency: 'EUR' }, 'source'],
  ] as const)('is refused, without a request, if it is repeated with %s', async (_name, params, field) => {
    const api = new Api();
    const { client, sent } = clientOn(api);
    await client.payments.create(TEA, { operation: 'order_42' });
    const error = await errorOf(client.payments.create(params as typeof TEA, { operation: 'order_42' }));

    // The first call has taken effect.
    expect(error).toMatchObject({ code: 'operation_changed', mayHaveTakenEffect: true });
    expect(error.message).toContain(`started with a different ${field}.`);
    expect(error.message).toContain('repeat it to get its response, before you start a new operation.');
    expect(error.message).not.toContain('tok_ok');
    expect([sent.length, chargesIn(api)]).toEqual([1, 1]);
  });

  test('accepts the same fields in another order', async () => {
    const { client } = clientOn(new Api());
    const params = { ...TEA, metadata: { a: '1', b: '2' } };
    const first = await client.payments.create(params, { operation: 'order_42' });
    const { amount, currency, source } = TEA;
    const turned = { metadata: { b: '2', a: '1' }, source, currency, amount };

    expect(await client.payments.create(turned, { operation: 'order_42' })).toEqual(first);
  });

  test('is refused when it is repeated for a different action or payment', async () => {
    const api = new Api();
    const { client, sent } = clientOn(api);
    const paid = await client.payments.create(TEA, { operation: 'order_42' });
    const other = await client.payments.create(TEA, { operation: 'order_43' });
    await client.payments.refund(paid.id, { amount: 100 }, { operation: 'refund_42' });
    const before = sent.length;

    for (const call of [
      client.payments.refund(other.id, { amount: 100 }, { operation: 'refund_42' }),
      client.payments.cancel(paid.id, { operation: 'refund_42' }),
    ])
      expect(await errorOf(call)).toMatchObject({ code: 'operation_changed' });
    expect(sent).toHaveLength(before);
  });

  test('is refused in live mode if it was started in test mode', async () => {
    const api = new Api();
    api.registerKey(LIVE_KEY, { mode: 'live' });
    const { client, keys } = clientOn(api);
    await client.payments.create(TEA, { operation: 'order_42' });
    const live = clientOn(api, {}, keys, LIVE_KEY);

    const error = await errorOf(live.client.payments.create(TEA, { operation: 'order_42' }));
    expect(error).toMatchObject({ code: 'operation_changed' });
    expect(live.sent).toEqual([]);
  });

  test.each(['', 'x'.repeat(201), undefined])('is refused if its name is %j', async (operation) => {
    const { client, sent } = clientOn(new Api());
    // A caller in JavaScript can leave out the options.
    const options = (operation === undefined ? undefined : { operation }) as { readonly operation: string };
    const error = await errorOf(client.payments.create(TEA, options));
    expect(error).toMatchObject({ code: 'invalid_operation', message: expect.stringContaining('order_42') });
    expect(sent).toEqual([]);
  });

  test.each([[null], [[]], ['tea'], [42]])(
    'is refused before it is stored if its parameters are %j',
    async (params) => {
      const { client, sent } = clientOn(new Api());
      const wrong = client.payments.create(params as unknown as typeof TEA, { operation: 'order_42' });
      await expect(wrong).rejects.toThrow(TypeError);
      expect(sent).toEqual([]);
      expect(await client.payments.create(TEA, { operation: 'order_42' })).toMatchObject({ status: 'succeeded' });
    },
  );

  test.each([
    ['nothing', undefined],
    [
      'a row of a different operation',
      { operation: 'order_1', key: 'k', method: 'POST', path: '/v1/payments', body: '{}' },
    ],
    ['a row without a key', { operation: 'order_42', key: '', method: 'POST', path: '/v1/payments', body: '{}' }],
  ])('is not sent when the key store returns %s', async (_name, row) => {
    const broken: KeyStore = { putIfAbsent: () => row as unknown as StoredOperation, keepAnswer: () => undefined };
    const { client, sent } = clientOn(new Api(), {}, broken);
    const error = await errorOf(client.payments.create(TEA, { operation: 'order_42' }));
    // An earlier process may have sent the request whose row is missing.
    expect(error).toMatchObject({ code: 'invalid_key_store', mayHaveTakenEffect: true });
    expect(sent).toEqual([]);
  });

  test('is not sent when the key store fails', async () => {
    const failing: KeyStore = {
      putIfAbsent: () => Promise.reject(new Error('the disk is full')),
      keepAnswer: () => undefined,
    };
    const { client, sent } = clientOn(new Api(), {}, failing);
    await expect(client.payments.create(TEA, { operation: 'order_42' })).rejects.toThrow('the disk is full');
    expect(sent).toEqual([]);
  });
});

describe('a final unsuccessful response', () => {
  test('is stored, and is thrown as an error with its code and payment; another operation can still pay', async () => {
    const api = new Api();
    const { client, sent } = clientOn(api);
    const declined = { ...TEA, source: 'tok_declined' };
    const error = await errorOf(client.payments.create(declined, { operation: 'order_42' }));
    const again = await errorOf(client.payments.create(declined, { operation: 'order_42' }));

    expect(isProblem(error, 'payment_failed') && error.problem.payment?.status).toBe('failed');
    expect(error).toMatchObject({ recovery: 'new_operation', mayHaveTakenEffect: false });
    expect((again as ProblemError).problem).toEqual((error as ProblemError).problem);
    const changed = await errorOf(client.payments.create(TEA, { operation: 'order_42' }));
    expect(changed).toMatchObject({ code: 'operation_changed', mayHaveTakenEffect: false });
    expect(changed.message).toContain('A different request needs a new operation.');
    expect(sent).toHaveLength(1);
    expect(await client.payments.create(TEA, { operation: 'order_42/2' })).toMatchObject({ status: 'succeeded' });
  });

  test('with payment_not_attempted states that nothing was charged and that another operation is needed', async () => {
    const api = new Api();
    const { client } = clientOn(api);
    const busy = { ...TEA, source: 'tok_rate_limited' };
    const first = await errorOf(client.payments.create(busy, { operation: 'order_42', timeoutMs: 1 }));
    expect(first).toMatchObject({ code: 'no_answer', mayHaveTakenEffect: true });
    api.clock.advance(16 * 60_000);
    const error = await errorOf(client.payments.create(busy, { operation: 'order_42' }));

    expect(error).toMatchObject({
      code: 'payment_not_attempted',
      recovery: 'new_operation',
      mayHaveTakenEffect: false,
    });
    expect(error.message).toContain('a further attempt needs a new operation');
    expect(chargesIn(api)).toBe(0);
  });

  test('with idempotency_key_expired contains the payment id, so that the caller can read the payment', async () => {
    const api = new Api();
    const forgetful: KeyStore = { ...memoryKeys(), keepAnswer: () => undefined };
    const { client } = clientOn(api, {}, forgetful);
    const paid = await client.payments.create(TEA, { operation: 'order_42' });
    api.clock.advance(9 * DAY_MS);
    const error = await errorOf(client.payments.create(TEA, { operation: 'order_42' }));

    if (!isProblem(error, 'idempotency_key_expired')) throw error;
    expect([error.recovery, error.problem.payment_id]).toEqual(['read_object', paid.id]);
    expect(await client.payments.retrieve(String(error.problem.payment_id))).toEqual(paid);
    expect(chargesIn(api)).toBe(1);
  });
});

describe('a refusal', () => {
  test('is not stored, so the same operation succeeds once the cause is removed', async () => {
    const api = new Api();
    const { client, keys } = clientOn(api, {}, undefined, OTHER_KEY);
    const refused = await errorOf(client.payments.create(TEA, { operation: 'order_42' }));
    expect(refused).toMatchObject({ code: 'unauthorized', recovery: 'correct', mayHaveTakenEffect: false });

    const { client: known } = clientOn(api, {}, keys);
    expect(await known.payments.create(TEA, { operation: 'order_42' })).toMatchObject({ status: 'succeeded' });
  });

  test('lets the same operation be sent again with a corrected body, with the same key', async () => {
    const api = new Api();
    const { client, keys, sent } = clientOn(api);
    const wrong = { ...TEA, amount: -1 };
    const refused = await errorOf(client.payments.create(wrong, { operation: 'order_42' }));
    expect(refused).toMatchObject({ code: 'invalid_request', recovery: 'correct', mayHaveTakenEffect: false });

    const paid = await client.payments.create(TEA, { operation: 'order_42' });
    const later = await clientOn(api, {}, keys).client.payments.create(TEA, { operation: 'order_42' });
    expect([paid.status, later]).toEqual(['succeeded', paid]);
    expect(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1);
    expect(await errorOf(client.payments.create(wrong, { operation: 'order_42' }))).toMatchObject({
      code: 'operation_changed',
    });
    expect([sent.length, chargesIn(api)]).toEqual([2, 1]);
  });

  test('lets only one of two corrections take effect, even without a response to the first', async () => {
    const api = new Api();
    const { client, keys } = clientOn(api);
    await errorOf(client.payments.create({ ...TEA, amount: -1 }, { operation: 'order_42' }));
    const losing = clientOn(
      api,
      {
        fetch: async (url, init) => {
          await api.fetch(new Request(url, init));
          throw new TypeError('the connection was reset');
        },
      },
      keys,
    );
    const lost = await errorOf(losing.client.payments.create(TEA, { operation: 'order_42', timeoutMs: 1 }));
    const other = await errorOf(client.payments.create({ ...TEA, amount: 2_000 }, { operation: 'order_42' }));

    expect([lost, other]).toMatchObject([
      { code: 'no_answer', mayHaveTakenEffect: true },
      { code: 'idempotency_key_payload_mismatch', mayHaveTakenEffect: true },
    ]);
    // If the error said that nothing took effect, the caller would pay again under another operation name.
    expect(await errorOf(client.payments.cancel('pay_1', { operation: 'order_42' }))).toMatchObject({
      code: 'operation_changed',
      mayHaveTakenEffect: true,
    });
    expect(await client.payments.create(TEA, { operation: 'order_42' })).toMatchObject({ amount: 1_000 });
    expect(chargesIn(api)).toBe(1);
  });

  test('never lets a correction charge if an earlier body, which the API now refuses, took effect', async () => {
    const api = new Api();
    let isStrict = false;
    const { client } = clientOn(api, {
      fetch: async (url, init) => {
        // The rules of the API have changed: it refuses this body before it reads the key.
        const sent = init.body as string;
        const body = isStrict ? sent.replace('"amount":1000', '"amount":-1') : sent;
        const response = await api.fetch(new Request(url, { ...init, body }));
        if (!isStrict) throw new TypeError('the connection was reset');
        return response;
      },
    });
    const pay = (amount: number) =>
      errorOf(client.payments.create({ ...TEA, amount }, { operation: 'order_42', timeoutMs: 1 }));
    expect(await pay(1_000)).toMatchObject({ code: 'no_answer', mayHaveTakenEffect: true });
    isStrict = true;
    const unsure = { mayHaveTakenEffect: true };
    expect(await pay(2_000)).toMatchObject({ code: 'operation_changed', ...unsure });
    expect(await pay(1_000)).toMatchObject({ code: 'invalid_request', ...unsure });
    expect(await pay(2_000)).toMatchObject({ code: 'idempotency_key_payload_mismatch', ...unsure });
    api.clock.advance(9 * DAY_MS);
    expect(await pay(2_000)).toMatchObject({ code: 'idempotency_key_expired', ...unsure });
    expect(chargesIn(api)).toBe(1);
  });

  test('does not allow a different path, nor a corrected body if the store keeps no refusals', async () => {
    const api = new Api();
    const { client } = clientOn(api);
    const paid = await client.payments.create(TEA, { operation: 'order_1' });
    const other = await client.payments.create(TEA, { operation: 'order_2' });
    const tooMuch = { amount: 5_000 };
    await errorOf(client.payments.refund(paid.id, tooMuch, { operation: 'refund_1' }));
    expect(await errorOf(client.payments.refund(other.id, tooMuch, { operation: 'refund_1' }))).toMatchObject({
      code: 'operation_changed',
    });
    expect(await client.payments.refund(paid.id, { amount: 500 }, { operation: 'refund_1' })).toMatchObject({
      amount: 500,
    });

    const keys = memoryKeys();
    const withoutRefusals: KeyStore = {
      putIfAbsent: (request) => keys.putIfAbsent(request),
      keepAnswer: (request, answer) => keys.keepAnswer(request, answer),
    };
    const plain = clientOn(api, {}, withoutRefusals).client;
    const wrong = { ...TEA, amount: -1 };
    await errorOf(plain.payments.create(wrong, { operation: 'order_42' }));
    const changed = await errorOf(plain.payments.create(TEA, { operation: 'order_42' }));
    expect(changed).toMatchObject({ code: 'operation_changed' });
    expect(changed.message).toContain('To correct a refused body, the key store needs keepRefusal.');
    // With a store that keeps refusals, the repeated request is refused, and can then be corrected.
    const { client: keeping } = clientOn(api, {}, keys);
    const advised = await errorOf(keeping.payments.create(TEA, { operation: 'order_42' }));
    expect(advised.message).toContain('repeat it to get its response. If it is refused, you can then send the');
    const again = await errorOf(keeping.payments.create(wrong, { operation: 'order_42' }));
    expect(again).toMatchObject({ code: 'invalid_request', mayHaveTakenEffect: true });
    expect(await keeping.payments.create(TEA, { operation: 'order_42' })).toMatchObject({ status: 'succeeded' });
  });

  test('has no effect after a stored success: a changed body is rejected, even for a request marked as refused', async () => {
    const keys = memoryKeys();
    const marked: KeyStore = {
      ...keys,
      putIfAbsent: async (request) => ({ ...(await keys.putIfAbsent(request)), refused: true }),
    };
    const { client } = clientOn(new Api(), {}, marked);
    await client.payments.create(TEA, { operation: 'order_42' });
    expect(await errorOf(client.payments.create({ ...TEA, amount: 2_000 }, { operation: 'order_42' }))).toMatchObject({
      code: 'operation_changed',
    });
  });

  test('states that an effect is possible if an earlier attempt got no response', async () => {
    const api = new Api();
    let attempts = 0;
    const { client, keys } = clientOn(api, {
      fetch: async (url, init) => {
        attempts += 1;
        const headers = { ...(init.headers as object), ...(attempts > 1 ? { authorization: 'Bearer gone' } : {}) };
        const response = await api.fetch(new Request(url, { ...init, headers }));
        if (attempts === 1) throw new TypeError('the connection was reset');
        return response;
      },
    });
    const now = await errorOf(client.payments.create(TEA, { operation: 'order_42' }));
    const later = await errorOf(
      clientOn(api, {}, keys, OTHER_KEY).client.payments.create(TEA, { operation: 'order_42' }),
    );

    const unsure = { code: 'unauthorized', mayHaveTakenEffect: true };
    expect([now, later]).toMatchObject([unsure, unsure]);
    expect(chargesIn(api)).toBe(1);
  });
});
