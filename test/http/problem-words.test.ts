import { describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { gatewayProblemBodies } from '../../lib/constructs/gateway-problems.ts';
import { API_KEY, Api, as, OPERATOR_KEY } from '../world/api.ts';

const OF_TENANT = 'This is the API key of a tenant.';
const OF_OPERATOR = 'This is the key of an operator.';

describe('an error about a key', () => {
  test.each([API_KEY, 'sk_live_unknownunknownunknown'])(
    "identifies a tenant's key where an operator key is required: %s",
    async (key) => {
      const api = new Api();
      for (const path of ['/v1/admin/me', '/v1/admin/jobs']) {
        const { status, body } = await api.get(path, as(key));
        expect([path, status, String(body['detail']).startsWith(OF_TENANT)]).toEqual([path, 401, true]);
      }
      const headers = { ...as(key).headers, 'Payonce-Tenant': 'ten_desk/test' };
      expect((await api.get('/v1/payments', { headers })).body['detail']).toContain(OF_TENANT);
    },
  );

  test.each([OPERATOR_KEY, 'ok_unknownunknownunknownun'])(
    "identifies an operator's key at a tenant route: %s",
    async (key) => {
      const api = new Api();
      expect((await api.get('/v1/payments', as(key))).body['detail']).toBe(
        `${OF_OPERATOR} This route requires the API key of a tenant (sk_test_… or sk_live_…), or an operator key together with Payonce-Tenant: <tenant>/<mode>.`,
      );
      expect((await api.pay('k', {}, as(key))).body['detail']).toBe(
        `${OF_OPERATOR} This route requires the API key of a tenant (sk_test_… or sk_live_…).`,
      );
    },
  );

  test('is generic if an unknown key has the prefix that the route requires', async () => {
    const { body } = await new Api().get('/v1/payments', as('sk_test_unknownunknownunknown'));
    expect(body['detail']).toBe('Send a valid API key as "Authorization: Bearer <key>".');
  });
});

test.each([
  ['a retryable error', new RetryableError('store_throttled', 'slow'), 503],
  ['a bug', new Error('a bug'), 500],
])(
  'the response to a failed read (%s) does not mention the idempotency key, unlike the response to a failed write',
  async (_what, error, status) => {
    const api = new Api({ isTenant: () => Promise.reject(error) });
    const read = await api.get('/v1/admin/keys?tenant=ten_a');
    expect([read.status, read.body['detail']]).toEqual([status, expect.not.stringMatching(/key/i)]);
    const broken = api.with({ identify: () => Promise.reject(error) });
    expect((await broken.annotate('pay_a', 'k')).body['detail']).toContain('Idempotency-Key');
  },
);

test('the detail of a problem names the unknown field or parameter', async () => {
  const api = new Api();
  expect((await api.pay('k', { amout: 5 })).body).toMatchObject({
    code: 'unknown_field',
    param: 'amout',
    detail: expect.stringMatching(/^The field amout is unknown/),
  });
  expect((await api.get('/v1/payments?colour=red')).body).toMatchObject({
    code: 'unknown_parameter',
    detail: expect.stringMatching(/^The parameter colour is unknown/),
  });
});

test('a gateway error mentions no key, because the request may be a read, which has no idempotency key', () => {
  for (const { detail } of gatewayProblemBodies('')) expect(detail).not.toMatch(/\bkey\b/i);
});
