import { beforeEach, describe, expect, test } from '@jest/globals';
import { ALL_SCOPES, Scopes } from '../../lambdas/kernel/contract/api.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { PAYMENT_PATHS, PAYMENT_READ_PATHS } from '../../lambdas/payments/http/payment-paths.ts';
import { idOfApiKey } from '../../lambdas/tenants/store/tenant-administration.ts';
import { READ_ROUTES } from '../../lambdas/views/http/read-routes.ts';
import { API_KEY, Api, as, OTHER_KEY, type Reply } from '../world/api.ts';
import { withoutRequestId } from './replies.ts';

const UNKNOWN_ID = `pay_${'a'.repeat(32)}`;

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

describe('an API key', () => {
  test('is refused with 401 if it is invalid, with the same body for every reason', async () => {
    harness.registerKey('sk_test_revokedrevokedrevoked', { revokedAtMs: harness.clock.nowMs() });
    harness.registerKey('sk_test_expiredexpiredexpired', { expiresAtMs: harness.clock.nowMs() });
    harness.registerKey('sk_live_wrongmodewrongmodewrong', { mode: 'test' });
    const bad = [
      as('sk_test_unknownunknownunknown'),
      as('sk_test_revokedrevokedrevoked'),
      as('sk_test_expiredexpiredexpired'),
      as('sk_live_wrongmodewrongmodewrong'),
      as('sk_test_short'),
      as(`${API_KEY} `.repeat(2)),
      as(''),
      { headers: { Authorization: API_KEY } },
      { headers: { Authorization: `Basic ${Buffer.from(`${API_KEY}:`).toString('base64')}` } },
      { headers: { Authorization: '' } },
      { event: { headers: null, multiValueHeaders: null } },
      { event: { headers: {}, multiValueHeaders: { Authorization: [`Bearer ${API_KEY}`, `Bearer ${OTHER_KEY}`] } } },
      { event: { headers: {}, multiValueHeaders: {}, queryStringParameters: { api_key: API_KEY } } },
      { event: { headers: {}, multiValueHeaders: {}, queryStringParameters: { Authorization: `Bearer ${API_KEY}` } } },
    ];

    const replies: Reply[] = [];
    for (const asked of bad) replies.push(await harness.get(`/v1/payments/${UNKNOWN_ID}`, asked));

    expect(new Set(replies.map((reply) => JSON.stringify(withoutRequestId(reply)))).size).toBe(1);
    expect(replies[0]?.body).toMatchObject({ status: 401, code: 'unauthorized' });
    for (const { headers } of replies) expect(headers['WWW-Authenticate']).toBe('Bearer');
  });

  test('is refused from its expiry on, even if it is cached', async () => {
    harness.registerKey(OTHER_KEY, { expiresAtMs: harness.clock.nowMs() + 5_000 });
    const status = async () => (await harness.get('/v1/balances', as(OTHER_KEY))).status;
    expect(await status()).toBe(200);
    harness.clock.advance(4_999);
    expect(await status()).toBe(200);
    harness.clock.advance(1);
    expect(await status()).toBe(401);
  });

  test('is recorded as used once a day, and only if it is valid', async () => {
    harness.registerKey('sk_test_revokedrevokedrevoked', { revokedAtMs: harness.clock.nowMs() });
    await harness.get('/v1/balances', as('sk_test_revokedrevokedrevoked'));
    for (let hour = 0; hour < 30; hour += 1) {
      await harness.get('/v1/balances');
      harness.clock.advance(60 * 60 * 1000);
    }
    const id = idOfApiKey(API_KEY);
    expect(harness.uses).toEqual([`${id} 2026-03-01`, `${id} 2026-03-02`]);
  });

  test('is valid even if its last use cannot be recorded', async () => {
    const keys = {
      findByHash: async () => ({ tenantId: tenantId('ten_desk'), mode: 'test' as const, scopes: ALL_SCOPES }),
    };
    const noteUse = () => Promise.reject(new RetryableError('store_unavailable', 'the store is unavailable'));
    expect((await new Api({ keys: { ...keys, noteUse } }).get('/v1/balances')).status).toBe(200);
  });

  test('is never looked up if it is malformed', async () => {
    for (const key of [
      '',
      'x',
      'sk_test_',
      'sk_test_short',
      `sk_prod_${'a'.repeat(22)}`,
      `sk_test_${'a'.repeat(300)}`,
    ]) {
      expect((await harness.get(`/v1/payments/${UNKNOWN_ID}`, as(key))).status).toBe(401);
    }

    expect(harness.lookups).toEqual([]);
  });

  test.each(['Bearer ', 'bearer ', 'BEARER   '])('is valid with the scheme %j', async (scheme) => {
    const reply = await harness.pay('k-1', {}, { headers: { Authorization: `${scheme}${API_KEY}` } });

    expect(reply.status).toBe(201);
  });

  test('is looked up by its hash only', async () => {
    await harness.get(`/v1/payments/${UNKNOWN_ID}`);

    // Computed with: printf '%s' sk_test_0123456789abcdefghijkl | sha256sum
    expect(harness.lookups).toEqual(['77533b4270ef7b39d087a2b098ed5f4e460ad440c5800bd7fcab1829b571ee37']);
  });

  test('gets 403 if it lacks the scope, with the same body for reads and writes', async () => {
    harness.registerKey(OTHER_KEY, { scopes: [Scopes.ledgerRead] });

    const write = await harness.pay('k-1', {}, as(OTHER_KEY));
    const read = await harness.get('/v1/payments', as(OTHER_KEY));

    expect(write.status).toBe(403);
    expect(write.body).toMatchObject({ code: 'insufficient_scope' });
    expect(withoutRequestId(read)).toEqual(withoutRequestId(write));
  });

  test('can allow reads without writes, and vice versa', async () => {
    const made = await harness.pay('k-1');
    const path = `/v1/payments/${String(made.body['id'])}`;

    harness.registerKey(OTHER_KEY, { scopes: [Scopes.paymentsRead] });
    expect((await harness.get(path, as(OTHER_KEY))).status).toBe(200);
    expect((await harness.pay('k-2', {}, as(OTHER_KEY))).status).toBe(403);

    harness.clock.advance(10_000);
    harness.registerKey(OTHER_KEY, { scopes: [Scopes.paymentsWrite] });
    expect((await harness.get(path, as(OTHER_KEY))).status).toBe(403);
    expect((await harness.pay('k-2', {}, as(OTHER_KEY))).status).toBe(201);
  });

  test('stays cached after a use, but is refused within 10 seconds of its revocation', async () => {
    await harness.pay('k-1');
    harness.registerKey(API_KEY, { revokedAtMs: harness.clock.nowMs() });
    harness.clock.advance(9_999);
    expect((await harness.pay('k-1')).status).toBe(201);
    expect(harness.lookups).toHaveLength(1);

    harness.clock.advance(1);
    expect((await harness.pay('k-1')).status).toBe(401);
    expect(harness.lookups).toHaveLength(2);
  });

  test('is not cached longer than usual if a slow read of the key started before the revocation', async () => {
    let record = { tenantId: tenantId('ten_1'), mode: 'test' as const, scopes: ALL_SCOPES, revokedAtMs: 0 };
    const { revokedAtMs: _none, ...valid } = record;
    let revoked = false;
    const slow: Api = new Api({
      keys: {
        noteUse: async () => undefined,
        findByHash: async () => {
          const read = revoked ? record : valid;
          slow.clock.advance(3_000);
          return read;
        },
      },
    });
    // The key is revoked after the store has read it and before the response arrives.
    expect((await slow.pay('k-1')).status).toBe(201);
    revoked = true;
    record = { ...record, revokedAtMs: slow.clock.nowMs() - 2_999 };
    slow.clock.advance(record.revokedAtMs + 10_000 - slow.clock.nowMs());
    expect((await slow.pay('k-1')).status).toBe(401);
  });

  test('is not cached longer than usual if the clock is set back', async () => {
    await harness.pay('k-1');
    harness.registerKey(API_KEY, { revokedAtMs: harness.clock.nowMs() });
    harness.clock.advance(-3_600_000);

    expect((await harness.pay('k-1')).status).toBe(401);
  });

  test('is looked up each time while it is unknown, so that a new key works immediately', async () => {
    expect((await harness.pay('k-1', {}, as(OTHER_KEY))).status).toBe(401);
    harness.registerKey(OTHER_KEY, {});

    expect((await harness.pay('k-1', {}, as(OTHER_KEY))).status).toBe(201);
  });

  test('gets 503 if it cannot be looked up', async () => {
    const away = new Api({
      keys: {
        noteUse: async () => undefined,
        findByHash: async () => {
          throw new RetryableError('store_unavailable', 'the store is unavailable; nothing was written', {
            retryAfterSeconds: 2,
          });
        },
      },
    });

    const reply = await away.pay('k-1');

    expect(reply.status).toBe(503);
    expect(reply.headers['Retry-After']).toBe('2');
    expect(reply.body).toMatchObject({ code: 'temporarily_unavailable' });
  });
});

describe('a payment of one tenant in test mode', () => {
  test.each([
    ['of another tenant', OTHER_KEY, { tenantId: tenantId('ten_other') }],
    ['of the same tenant in live mode', 'sk_live_0123456789abcdefghijkl', { mode: 'live' as const }],
  ])('does not exist for a key %s', async (_whose, key, record) => {
    harness.registerKey(key, record);
    const made = await harness.pay('k-1');

    for (const rest of ['', '/transitions']) {
      const foreign = await harness.get(`/v1/payments/${String(made.body['id'])}${rest}`, as(key));
      const unknown = await harness.get(`/v1/payments/${UNKNOWN_ID}${rest}`, as(key));
      const malformed = await harness.get(`/v1/payments/no-id${rest}`, as(key));

      expect(foreign.status).toBe(404);
      expect(withoutRequestId(foreign)).toEqual(withoutRequestId(unknown));
      expect(withoutRequestId(malformed)).toEqual(withoutRequestId(unknown));
    }
  });
});

describe('a path', () => {
  test.each([
    '/',
    '/v1',
    '/v2/payments',
    '/v1/payment',
    '/v1/payments/a/b',
    `/v1/payments/${UNKNOWN_ID}/transitions/1`,
  ])('returns 404 before any key is checked if it is unknown: %s', async (path) => {
    const reply = await harness.get(path, as('wrong'));

    expect(reply.status).toBe(404);
    expect(reply.headers).toMatchObject({ 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' });
    expect(reply.body).toMatchObject({ code: 'not_found' });
    const explanation = new URL(String(reply.body['type']), `https://api.example/live${path}`);
    expect(explanation.href).toBe('https://api.example/live/docs/problems#not_found');
    expect(harness.lookups).toEqual([]);
  });

  test.each([
    ['OPTIONS', '/v1/payments', 'POST, GET, HEAD'],
    ['DELETE', '/v1/payments/', 'POST, GET, HEAD'],
    ['POST', `/v1/payments/${UNKNOWN_ID}`, 'GET, HEAD'],
    ['PATCH', `/v1/payments/${UNKNOWN_ID}/transitions`, 'GET, HEAD'],
  ])('returns 405 with the allowed methods for an unsupported method: %s %s', async (method, path, allow) => {
    const reply = await harness.ask(method, path);

    expect(reply.status).toBe(405);
    expect(reply.headers).toMatchObject({ Allow: allow, 'Content-Type': 'application/problem+json' });
    if (method !== 'HEAD') expect(reply.body).toMatchObject({ code: 'method_not_allowed' });
  });

  /** Two functions serve the paths. */
  const ALLOWED = {
    '/v1/payments': 'POST, GET, HEAD',
    '/v1/payments/{id}': 'GET, HEAD',
    '/v1/payments/{id}/capture': 'POST',
    '/v1/payments/{id}/cancel': 'POST',
    '/v1/payments/{id}/refunds': 'POST, GET, HEAD',
    '/v1/payments/{id}/transitions': 'GET, HEAD',
    '/v1/payments/{id}/charges': 'GET, HEAD',
    '/v1/payments/{id}/disputes': 'GET, HEAD',
    '/v1/payments/{id}/captures': 'GET, HEAD',
    '/v1/payments/{id}/cancellations': 'GET, HEAD',
    '/v1/refunds/{id}': 'GET, HEAD',
    '/v1/disputes/{id}': 'GET, HEAD',
    '/v1/captures/{id}': 'GET, HEAD',
    '/v1/cancellations/{id}': 'GET, HEAD',
    '/v1/disputes': 'GET, HEAD',
    '/v1/payment_requests/{id}': 'GET, HEAD',
  };

  test('returns 405 and all allowed methods for every method that it does not allow', async () => {
    expect(new Set(PAYMENT_PATHS.map(({ path }) => path))).toEqual(new Set(Object.keys(ALLOWED)));
    const read = READ_ROUTES.filter(({ docs }) => ['Payments', 'Refunds', 'Disputes'].includes(docs.tag));
    expect(new Set(PAYMENT_READ_PATHS)).toEqual(new Set(read.map(({ path }) => path)));
    for (const [path, allow] of Object.entries(ALLOWED)) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (allow.split(', ').includes(method)) continue;
        const { status, headers, body } = await harness.ask(method, path.replace('{id}', UNKNOWN_ID), as('wrong'));
        const detail = method === 'HEAD' ? undefined : `This path supports ${allow}.`;
        expect([method, path, status, headers['Allow'], body['detail']]).toEqual([method, path, 405, allow, detail]);
      }
    }
    expect(harness.lookups).toEqual([]);
  });

  test.each(['//v1//payments/', '/v1/%70ayments'])('matches a payment route if it is written as %s', async (path) => {
    const event = { body: '{"amount":1000,"currency":"EUR","source":"tok_ok"}' };
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'k-1' };
    expect((await harness.ask('POST', path, { headers, event })).status).toBe(201);
  });

  test('is not decoded to a known path if it contains an encoded slash, a double encoding, dots or an encoded NUL', async () => {
    const { body } = await harness.pay('k-1');
    const id = String(body['id']);

    for (const path of [
      `/v1/payments%2F${id}`,
      `/v1/payments/%2570${id}`,
      `/v1/x/../payments/${id}`,
      `/v1/payments/${id}%00`,
    ]) {
      expect((await harness.get(path)).status).toBe(404);
    }
    expect((await harness.get(`/v1/payments/%70${id.slice(1)}`)).status).toBe(200);
  });

  test('returns the status and the content type to HEAD, but no body', async () => {
    const made = await harness.pay('k-1');
    const path = `/v1/payments/${String(made.body['id'])}`;

    const head = await harness.ask('HEAD', path);

    expect(head.status).toBe(200);
    expect(head.text).toBe('');
    expect(head.headers['Content-Type']).toBe('application/json');
  });
});

describe('any response', () => {
  test('contains its request id, and forbids caching and content sniffing', async () => {
    const replies = [
      await harness.pay('k-1'),
      await harness.pay('k-1', { amount: 2 }),
      await harness.get('/nowhere'),
      await harness.ask('PUT', '/v1/payments'),
      await harness.get(`/v1/payments/${UNKNOWN_ID}`),
      await harness.pay('k-2', {}, as('')),
    ];

    for (const [index, { headers, body, status }] of replies.entries()) {
      expect(headers).toMatchObject({
        'Request-Id': `req-${index + 1}`,
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        Link: expect.stringMatching(
          /^<(?:\.\.?\/)+v1\/openapi\.json>; rel="service-desc", <(?:\.\.?\/)+docs>; rel="service-doc"$/,
        ),
      });
      if (status >= 400) expect(body).toMatchObject({ request_id: `req-${index + 1}`, status });
    }
  });
});
