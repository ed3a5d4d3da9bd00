/** Tests the guarantee "strict requests". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { MAX_BODY_BYTES } from '../../lambdas/kernel/contract/limits.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { fc } from '../support/properties.ts';
import { API_KEY, Api } from '../world/api.ts';
import { paymentRequest } from './payment-fixtures.ts';

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

/** Used for requests that are refused before the claim. */
const untouched = new Proxy({} as PaymentStore, {
  get: (_target, method) => () => {
    throw new Error(`${String(method)} must not be called`);
  },
});

const refusing = () => new Api({ store: untouched });

describe('an amount', () => {
  test.each([
    ['a fraction', '10.5'],
    ['zero', '0'],
    ['negative zero', '-0'],
    ['negative', '-1'],
    ['text', '"1000"'],
    ['text with an exponent', '"1e3"'],
    ['null', 'null'],
    ['a boolean', 'true'],
    ['an array', '[1000]'],
    ['beyond the maximum of the currency', '1000000000000'],
    ['the largest safe integer', '9007199254740991'],
  ])('is refused if it is %s, and the error names the field and the allowed values', async (_what, amount) => {
    const reply = await refusing().post(`{"amount":${amount},"currency":"EUR","source":"tok_ok"}`);

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ code: 'invalid_request', param: 'amount' });
    expect(reply.body['detail']).toMatch(/^amount must be /);
  });

  test.each(['9007199254740992', '9007199254740993', '1e16', '1e400', '1000.00000000000000001'])(
    'is refused if different JSON parsers would read different values: %s',
    async (amount) => {
      const reply = await refusing().post(`{"amount":${amount},"currency":"EUR","source":"tok_ok"}`);

      expect(reply.body).toMatchObject({ status: 400, code: 'invalid_json' });
    },
  );

  test.each(['1000', '1e3', '1E+3', '1000.0', '10000e-1'])(
    'is accepted as 1000 minor units if it is written as %s',
    async (amount) => {
      const reply = await harness.post(`{"amount":${amount},"currency":"EUR","source":"tok_ok"}`);

      expect(reply.status).toBe(201);
      expect(reply.text).toContain('"amount":1000,');
    },
  );

  test.each([
    ['JPY', 9_999_999_999, 201],
    ['JPY', 10_000_000_000, 400],
    ['EUR', 999_999_999_999, 201],
    ['EUR', 1_000_000_000_000, 400],
    ['KWD', 999_999_999_999, 201],
    ['KWD', 1_000_000_000_000, 400],
    ['EUR', 1, 201],
  ])('is validated by the rules of its currency: %s %d returns %d', async (currency, amount, status) => {
    expect((await harness.pay(`k-${currency}-${amount}`, { currency, amount })).status).toBe(status);
  });

  test.each([
    ['JPY', '10.00'],
    ['KWD', '1.234'],
  ])(
    'is read in minor units even if it is written with the decimals of %s, and must be an integer: %s',
    async (currency, amount) => {
      const reply = await harness.post(`{"amount":${amount},"currency":"${currency}","source":"tok_ok"}`);

      // In JSON, 10.00 equals 10, which is accepted as ten yen.
      expect(reply.status).toBe(amount === '10.00' ? 201 : 400);
      if (reply.status === 201) expect(reply.body).toMatchObject({ amount: 10, currency: 'JPY' });
    },
  );
});

test('a payment in a currency that was withdrawn later can be read, reported and refunded', async () => {
  const recorded = paymentRequest('lev', { tenantId: tenantId('ten_desk'), currency: 'BGN' });
  await harness.world.pay(recorded);
  const { paymentId: id } = recorded;
  expect((await harness.get(`/v1/payments/${id}`)).body).toMatchObject({ status: 'succeeded', currency: 'BGN' });
  const refunded = await harness.change(`${id}/refunds`, 'r', { amount: 400 });
  expect([refunded.status, refunded.body]).toMatchObject([201, { amount: 400, currency: 'BGN' }]);
  const days = 'from=2025-12-01&to=2025-12-31';
  expect((await harness.get(`/v1/reports/volume?${days}&currency=BGN`)).status).toBe(200);
});

describe('a field', () => {
  const long = (length: number) => 'x'.repeat(length);
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));

  test.each([
    ['currency', { currency: 'eur' }],
    ['currency', { currency: 'XXX' }],
    ['currency', { currency: 978 }],
    ['currency', { currency: 'BGN' }],
    ['source', { source: '' }],
    ['source', { source: 'tok ok' }],
    ['source', { source: long(256) }],
    ['source', { source: 'tök' }],
    ['source', { source: { token: 'tok_ok' } }],
    ['capture', { capture: 'later' }],
    ['capture', { capture: null }],
    ['reference', { reference: '' }],
    ['reference', { reference: long(256) }],
    ['reference', { reference: 5 }],
    ['description', { description: long(501) }],
    ['metadata', { metadata: [] }],
    ['metadata', { metadata: 'x' }],
    ['metadata', { metadata: keys(51) }],
    ['metadata', { metadata: { a: long(500), b: long(500), c: long(500), d: long(500), e: long(44) } }],
    ['metadata.order id', { metadata: { 'order id': 5 } }],
    ['metadata.order id', { metadata: { 'order id': long(501) } }],
    ['metadata.order id', { metadata: { 'order id': { nested: 'x' } } }],
    [`metadata.${long(41)}`, { metadata: { [long(41)]: 'x' } }],
  ])('%s is refused, and the error names the field and the allowed values: %j', async (param, change) => {
    const reply = await refusing().pay('k-1', change);

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ code: 'invalid_request', param });
    expect(reply.body['detail']).toMatch(/ must (?:not )?(?:be|have) /);
  });

  test('that is a metadata key of excessive length appears only in the `param` of the error', async () => {
    const name = '<b>'.repeat(20);
    const reply = await refusing().post(
      JSON.stringify({ amount: 1000, currency: 'EUR', source: 'tok_ok', metadata: { [name]: '1' } }),
    );
    expect(reply.body).toMatchObject({
      param: `metadata.${name}`,
      detail: 'metadata has a key that must be at most 40 characters.',
    });
  });

  test('is refused if it is an empty metadata key', async () => {
    expect((await refusing().pay('k-1', { metadata: { '': 'x' } })).body).toMatchObject({ code: 'invalid_request' });
  });

  test.each(['amount', 'currency', 'source'])(
    '%s is required, and a request without this field returns a 400 that names the field',
    async (field) => {
      const reply = await refusing().pay('k-1', { [field]: undefined });

      expect(reply.body).toMatchObject({ status: 400, code: 'invalid_request', param: field });
      expect(reply.body['detail']).toMatch(new RegExp(`^${field} is missing: it must be `));
    },
  );

  test.each([
    'tenant_id',
    'status',
    'id',
    'livemode',
    'mode',
    'processor',
    'Amount',
    'amount ',
    'constructor',
    'toString',
  ])('is refused as an unknown field if clients may not set it: %s', async (field) => {
    const reply = await refusing().pay('k-1', { [field]: 'x' });

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ code: 'unknown_field', param: field });
  });

  test('is accepted at its maximum size', async () => {
    const reply = await harness.pay('k-1', {
      source: `tok_${long(251)}`,
      reference: long(255),
      description: long(500),
      metadata: { ...keys(49), [long(40)]: long(500) },
    });

    expect([201, 402]).toContain(reply.status);
  });

  test('is accepted if it is metadata of exactly 2048 bytes in UTF-8', async () => {
    const metadata = { a: 'é'.repeat(250), b: long(500), c: long(500), d: long(500), e: long(43) };

    expect((await harness.pay('k-1', { metadata })).status).toBe(201);
    expect((await harness.pay('k-2', { metadata: { ...metadata, e: `${long(42)}é` } })).status).toBe(400);
  });
});

describe('a body', () => {
  test('does not reach the store if it is too large or too deep, or has a wrong media type or duplicate keys', async () => {
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, ''])));
    const store = refusing();

    expect((await store.post(`{"metadata":${many}}`)).status).toBe(413);
    expect((await store.post(`{"a":"${'x'.repeat(MAX_BODY_BYTES)}"}`)).body).toMatchObject({ code: 'body_too_large' });
    expect((await store.post('['.repeat(30_000))).body).toMatchObject({ status: 400, code: 'invalid_json' });
    expect((await store.post('{}', { headers: { 'Content-Type': 'text/plain' } })).status).toBe(415);
    expect((await store.post('{"amount":1000,"amount":1000}')).body).toMatchObject({ code: 'invalid_json' });
  });

  test('is refused if it contains thousands of metadata keys, even short ones', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`k${index}`, '']));

    expect((await refusing().pay('k-1', { metadata })).body).toMatchObject({ status: 400, param: 'metadata' });
  });

  test.each([
    ['a lone surrogate', '"\\ud800"'],
    ['NUL', '"\\u0000"'],
  ])('is refused with %s', async (_what, literal) => {
    const body = `{"amount":1000,"currency":"EUR","source":"tok_ok","description":${literal}}`;

    expect((await refusing().post(body)).body).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  test('is stored and returned with every character unchanged', async () => {
    const description = 'cafe\u0301 caf\u00e9 \u200b 😀 <script>alert(1)</script> =HYPERLINK("x")';

    const reply = await harness.pay('k-1', { description, metadata: { '=cmd': '<img src=x onerror=alert(1)>' } });

    expect(reply.body).toMatchObject({ description, metadata: { '=cmd': '<img src=x onerror=alert(1)>' } });
    expect(reply.headers).toMatchObject({ 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' });
  });

  test('is refused if it contains __proto__, and changes no prototype', async () => {
    const prototype = '{"__proto__":{"tenant_id":"x"},"amount":1000,"currency":"EUR","source":"tok_ok"}';
    const inMetadata = '{"metadata":{"__proto__":"x"},"amount":1000,"currency":"EUR","source":"tok_ok"}';

    expect((await refusing().post(prototype)).status).toBe(400);
    expect((await refusing().post(inMetadata)).status).toBe(400);
    expect(({} as Record<string, unknown>)['tenant_id']).toBeUndefined();
  });
});

describe('a card number or a secret', () => {
  const card = '4242 4242 4242 4242';
  const secret = 'sk_live_abcdefghijklmnop';

  test.each([
    ['source', { source: '4242424242424242' }],
    ['reference', { reference: card }],
    ['description', { description: `paid with ${card}` }],
    ['metadata.note', { metadata: { note: card } }],
    ['metadata', { metadata: { [card]: 'x' } }],
    ['card.number', { card: { number: card } }],
    ['the name of a field', { [card]: 'x' }],
  ])('is refused in %s, and the number is not echoed', async (where, change) => {
    const reply = await refusing().pay('k-1', change);
    const param = where === 'the name of a field' ? undefined : where;

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ code: 'card_number_not_allowed' });
    expect(reply.body['param']).toBe(param);
    expect(reply.text).not.toContain('4242');
  });

  test.each([
    ['source', { source: secret }],
    ['description', { description: `key: ${secret}` }],
    ['metadata.note', { metadata: { note: `whsec_${'a'.repeat(32)}` } }],
    ['metadata', { metadata: { [secret]: 'x' } }],
  ])('is refused in %s, and the secret is not echoed', async (param, change) => {
    const reply = await refusing().pay('k-1', change);

    expect(reply.body).toMatchObject({ status: 400, code: 'secret_not_allowed', param });
    expect(reply.text).not.toContain('abcdefgh');
  });

  test('is refused in the idempotency key, and the number is not echoed', async () => {
    const reply = await refusing().pay('4242-4242-4242-4242');

    expect(reply.body).toMatchObject({ status: 400, code: 'card_number_not_allowed', param: 'idempotency-key' });
    expect(reply.text).not.toContain('4242');
  });

  test('is refused in the name or value of a header, in any notation, and the number is not echoed', async () => {
    const spellings = ['4242424242424242', '4242 4242 4242 4242', '4242-4242-4242-4242', '0004242424242424242', card];
    const header = fc.constantFrom('User-Agent', 'Accept-Language', 'Referer', 'Prefer', 'X-Note', 'Idempotency-Key');
    await fc.assert(
      fc.asyncProperty(header, fc.constantFrom(...spellings), fc.boolean(), async (name, text, isName) => {
        const headers = isName ? { [`x-${text}`]: '1' } : { [name]: `for ${text}` };
        const reply = await refusing().get('/v1/payments', { headers });
        expect(reply.body).toMatchObject({ status: 400, code: 'card_number_not_allowed' });
        expect(reply.body['param']).toBe(isName ? undefined : name.toLowerCase());
        expect(reply.text).not.toContain('4242');
      }),
    );
  });

  test('is not searched for in tracing headers', async () => {
    const trace = { 'X-Datadog-Trace-Id': card, Traceparent: card, 'X-B3-TraceId': card, 'X-Request-Id': card };
    const gateway = { 'X-Amzn-Trace-Id': `Root=1-${card}`, 'X-Forwarded-For': card, Cookie: `visit=${card}` };
    expect((await harness.get('/v1/payments', { headers: { ...trace, ...gateway } })).status).toBe(200);
  });

  test.each([
    ['the path', '/v1/payments/4242424242424242', {}, 'path'],
    ['a parameter', '/v1/payments', { reference: [card] }, 'reference'],
    ['the name of a parameter', '/v1/payments', { [card]: ['1'] }, undefined],
  ])('is refused in %s of a URL, and the number is not echoed', async (_where, path, query, param) => {
    const reply = await refusing().get(path, { event: { multiValueQueryStringParameters: query } });

    expect(reply.body).toMatchObject({ status: 400, code: 'card_number_not_allowed' });
    expect(reply.body['param']).toBe(param);
    expect(reply.text).not.toContain('4242');
  });

  test('is not echoed even if it is a JSON number', async () => {
    const reply = await refusing().post('{"amount":4242424242424242,"currency":"EUR","source":"tok_ok"}');

    expect(reply.body).toMatchObject({ status: 400, param: 'amount' });
    expect(reply.text).not.toContain('4242');
  });
});

describe('a query', () => {
  test('is refused if it has unknown parameters', async () => {
    const reply = await harness.ask('POST', '/v1/payments?dry_run=true', {
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'k-1' },
      event: { body: '{"amount":1000,"currency":"EUR","source":"tok_ok"}' },
    });

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ code: 'unknown_parameter', param: 'dry_run' });
    expect((await harness.get(`/v1/payments/pay_${'a'.repeat(32)}?expand=all`)).body).toMatchObject({
      param: 'expand',
    });
  });

  test('is refused if a name or a value is an API key, and the key is not echoed', async () => {
    for (const query of [`${API_KEY}=1`, `api_key=${API_KEY}`]) {
      const reply = await harness.get(`/v1/payments/pay_${'a'.repeat(32)}?${query}`);
      expect(reply.status).toBe(400);
      expect(reply.text).not.toContain(API_KEY);
    }
  });

  test('pages through transitions, oldest first, without duplicates', async () => {
    const { body } = await harness.pay('k-1');
    const path = `/v1/payments/${String(body['id'])}/transitions`;

    const first = await harness.get(`${path}?limit=1`);
    const second = await harness.get(`${path}?limit=1&starting_after=1`);
    const third = await harness.get(`${path}?starting_after=2`);

    expect(first.body).toMatchObject({ data: [{ sequence: 1 }], has_more: true });
    expect(second.body).toMatchObject({ data: [{ sequence: 2 }], has_more: false });
    expect(third.body).toMatchObject({ data: [], has_more: false });
  });

  test.each([
    'limit=0',
    'limit=101',
    'limit=1.5',
    'limit=-1',
    'limit=',
    'limit=1e1',
    'limit=0x10',
    'limit=1&limit=2',
    'limit=99999999',
  ])('is refused with %s, and the error names the parameter', async (query) => {
    const reply = await harness.get(`/v1/payments/pay_${'a'.repeat(32)}/transitions?${query}`);

    expect(reply.body).toMatchObject({ status: 400, code: 'invalid_request', param: 'limit' });
  });

  test.each(['starting_after=-1', 'starting_after=1000000', 'starting_after=x', 'starting_after=%20'])(
    'is refused with %s, and the error names the parameter',
    async (query) => {
      const reply = await harness.get(`/v1/payments/pay_${'a'.repeat(32)}/transitions?${query}`);

      expect(reply.body).toMatchObject({ status: 400, code: 'invalid_request', param: 'starting_after' });
    },
  );
});

describe('a request with several errors', () => {
  test('returns the error of the first failed check, in this order: key, query, size, type, JSON, secrets, fields', async () => {
    const good = { 'Content-Type': 'application/json', 'Idempotency-Key': 'k-1' };
    const body = '{"status":"succeeded","amount":-1,"description":"4242424242424242"}';
    const ask = (headers: Readonly<Record<string, string>>, text: string, path = '/v1/payments') =>
      refusing()
        .ask('POST', path, { headers, event: { body: text } })
        .then((reply) => reply.body['code']);

    expect(await ask({}, 'x'.repeat(MAX_BODY_BYTES + 1), '/v1/payments?x=1')).toBe('missing_idempotency_key');
    expect(await ask({ 'Idempotency-Key': 'k' }, 'x'.repeat(MAX_BODY_BYTES + 1), '/v1/payments?x=1')).toBe(
      'unknown_parameter',
    );
    expect(await ask({ 'Idempotency-Key': 'k' }, 'x'.repeat(MAX_BODY_BYTES + 1))).toBe('body_too_large');
    expect(await ask({ 'Idempotency-Key': 'k' }, body)).toBe('unsupported_media_type');
    expect(await ask(good, `${body}}`)).toBe('invalid_json');
    expect(await ask(good, body)).toBe('card_number_not_allowed');
    expect(await ask(good, body.replace('4242424242424242', 'x'))).toBe('unknown_field');
    expect(await ask(good, '{"amount":-1}')).toBe('invalid_request');
  });
});
