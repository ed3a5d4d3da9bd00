import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { Api } from '../world/api.ts';

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

const apiWithClaim = (claim: PaymentStore['claim']) => {
  const store = { ...harness.world.storeMethods(), claim };
  return new Api({ store, clock: harness.clock, processor: harness.processor });
};

describe('a request while the processor cannot be called', () => {
  test('gets 503 before anything is claimed if the breaker is open, and leaves the key usable', async () => {
    await harness.processor.inside.goDown();
    const away = await harness.pay('k-1');

    expect(away.status).toBe(503);
    expect(away.headers).toMatchObject({ 'Retry-After': '10', 'Content-Type': 'application/problem+json' });
    expect(away.body).toMatchObject({ code: 'processor_unavailable' });
    expect(harness.reports.at(-1)?.counts).toEqual(['unavailable']);

    await harness.processor.inside.recover();
    expect((await harness.pay('k-1')).status).toBe(201);
  });

  test.each([
    ['the rate limit is reached', 'tok_rate_limited'],
    ['the processor rejects our credential', 'tok_unauthorized'],
  ])('gets 503 with Retry-After if %s, stores no response, and leaves the key usable', async (_why, trouble) => {
    await harness.processor.inside.failNext(1, trouble);
    const away = await harness.pay('k-1');

    expect(away.status).toBe(503);
    expect(away.body).toMatchObject({ code: 'processor_unavailable' });
    expect(Number(away.headers['Retry-After'])).toBeGreaterThanOrEqual(1);

    const again = await harness.pay('k-1');
    expect(again.status).toBe(201);
    expect(again.headers['Idempotency-Replayed']).toBeUndefined();
  });
});

describe('a request while the store is unavailable', () => {
  test('gets 503 with Retry-After if the store refuses the claim, and leaves the key usable', async () => {
    const away = await apiWithClaim(async () => {
      throw new RetryableError('store_unavailable', 'throttled', { retryAfterSeconds: 1.2 });
    }).pay('k-1');

    expect(away.status).toBe(503);
    expect(away.headers['Retry-After']).toBe('2');
    expect(away.body).toMatchObject({ code: 'temporarily_unavailable' });
    expect((await harness.pay('k-1')).status).toBe(201);
  });

  test('gets 503 if the claim may have been stored, and a later retry with the same key determines the outcome', async () => {
    const away = apiWithClaim(async (claim) => {
      await harness.store.claim(claim);
      throw new AmbiguousError('store_ambiguous', 'no response');
    });

    const lost = await away.pay('k-1');
    expect(lost.status).toBe(503);
    expect(lost.headers['Retry-After']).toBe('1');

    harness.clock.advance(25_000);
    const found = await harness.pay('k-1');
    expect(found.status).toBe(201);
    expect(harness.processor.charges(String(found.body['id']))).toHaveLength(1);
    expect(harness.reports.at(-1)?.counts).toEqual(['first', 'takeover']);
  });
});

describe('a bug', () => {
  test.each([
    ['an error', () => new Error('the card tok_secret of Mr Miller')],
    ['a fault that a retry cannot fix', () => new TerminalError('store_refused', 'no table Ledger-1')],
    ['a value that is not an error', () => 'text'],
  ])('returns 500 without internal details if it throws %s', async (_what, thrown) => {
    const broken = apiWithClaim(async () => {
      throw thrown();
    });

    const reply = await broken.pay('k-1');

    expect(reply.status).toBe(500);
    expect(reply.headers['Content-Type']).toBe('application/problem+json');
    expect(reply.body).toEqual({
      type: '../docs/problems#internal_error',
      title: 'Internal error',
      status: 500,
      code: 'internal_error',
      detail: 'The service failed. Retry with the same Idempotency-Key: the request takes effect at most once.',
      request_id: 'req-1',
    });
    expect(broken.faults).toHaveLength(1);
    expect(broken.reports).toHaveLength(1);
    expect(broken.reports[0]?.counts).toEqual(['failure']);
  });
});

describe('the log', () => {
  test('has one line for each request, regardless of the outcome', async () => {
    await harness.pay('k-1');
    await harness.pay('k-1');
    await harness.pay('k-1', { amount: 2 });
    await harness.pay('k-2', { amount: -1 });
    await harness.get('/nowhere/42');
    await harness.get(`/v1/payments/pay_${'a'.repeat(32)}`, { headers: { Authorization: 'Bearer x' } });

    expect(
      harness.reports.map(({ report: { requestId, route, status, outcome } }) => [requestId, route, status, outcome]),
    ).toEqual([
      ['req-1', '/v1/payments', 201, 'first'],
      ['req-2', '/v1/payments', 201, 'replay'],
      ['req-3', '/v1/payments', 422, 'payload_mismatch'],
      ['req-4', '/v1/payments', 400, 'invalid_request'],
      ['req-5', 'none', 404, 'not_found'],
      ['req-6', '/v1/payments/{id}', 401, 'unauthorized'],
    ]);
  });

  test('also contains the tenant and the operation of failed requests', async () => {
    const { body } = await harness.pay('k-1');
    const failing = apiWithClaim(async () => {
      throw new RetryableError('store_unavailable', 'throttled');
    });
    await failing.pay('k-1');

    expect(failing.reports[0]?.report).toMatchObject({
      status: 503,
      outcome: 'store_unavailable',
      tenantId: 'ten_desk',
      operationId: body['id'],
    });
  });

  test('contains tenant, operation and duration', async () => {
    const { body } = await harness.pay('k-1', {}, {});

    expect(harness.reports[0]?.report).toEqual({
      requestId: 'req-1',
      method: 'POST',
      route: '/v1/payments',
      status: 201,
      outcome: 'first',
      tenantId: 'ten_desk',
      operationId: body['id'],
      durationMs: 0,
    });
  });
});
