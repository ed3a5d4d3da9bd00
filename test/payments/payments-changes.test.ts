import { beforeEach, describe, expect, test } from '@jest/globals';
import { Scopes } from '../../lambdas/kernel/contract/api.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { Api, as, dataOf, OTHER_KEY, type Reply } from '../world/api.ts';
import { meaning, withoutRequestId } from './replies.ts';

const UNKNOWN_ID = `pay_${'a'.repeat(32)}`;
const emptyBody = { event: { body: '' } };

let harness: Api;
let ledger: Api;

beforeEach(() => {
  harness = new Api();
  ledger = new Api({}, harness.world);
});

async function paid(body: Readonly<Record<string, unknown>> = {}, key = 'pay'): Promise<PaymentId> {
  const reply = await harness.pay(key, body);
  const id = parsePaymentId(String(reply.body['id']));
  invariant(id !== undefined, `there is no payment: ${reply.text}`);
  return id;
}

const held = (key?: string) => paid({ capture: 'manual' }, key);
const show = async (id: string) => (await harness.get(`/v1/payments/${id}`)).body;
const refundsOf = async (id: string) => dataOf(await harness.get(`/v1/payments/${id}/refunds`));
const typesOf = async (id: string) =>
  dataOf(await harness.get(`/v1/payments/${id}/transitions`)).map(({ type }) => type);

function chargeOf(id: PaymentId): string {
  const [charge] = harness.processor.charges(id);
  invariant(charge !== undefined, 'the payment has no charge');
  return charge.chargeId;
}

function refundedAtProcessor(id: PaymentId): number {
  const refunds = harness.processor.charges(id).flatMap((charge) => charge.refunds);
  return refunds.reduce((sum, { amountMinor, status }) => sum + (status === 'succeeded' ? amountMinor : 0), 0);
}

function withProcessor(processor: Partial<Processor>): Api {
  return harness.with({ processor: { ...harness.processor, ...processor } });
}

describe('a capture', () => {
  test('captures the full amount if the request has no body, and the payment includes the captured amount', async () => {
    const id = await held();
    const reply = await harness.change(`${id}/capture`, 'k');

    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({ 'Content-Type': 'application/json', Location: `../../../v1/payments/${id}` });
    expect(reply.body).toMatchObject({ id, status: 'succeeded', amount: 1000, amount_captured: 1000 });
    expect(await show(id)).toEqual(reply.body);
  });

  test('captures a partial amount, which limits the total of all refunds', async () => {
    const id = await held();
    expect((await harness.change(`${id}/capture`, 'k', { amount: 400 })).body).toMatchObject({ amount_captured: 400 });

    const much = await harness.change(`${id}/refunds`, 'r', { amount: 401 });
    expect([much.status, much.body]).toMatchObject([409, { code: 'amount_exceeds_left', amount_left: 400 }]);
  });

  test('returns 409 with the authorized amount if it exceeds that amount, and leaves the key unused', async () => {
    const id = await held();
    const much = await harness.change(`${id}/capture`, 'k', { amount: 1001 });

    expect([much.status, much.body]).toMatchObject([
      409,
      { code: 'amount_exceeds_left', param: 'amount', amount_left: 1000 },
    ]);
    expect((await harness.change(`${id}/capture`, 'k', { amount: 1000 })).status).toBe(200);
  });

  test('returns 402 for the request and each retry if the processor refuses the capture, and can succeed under a new key', async () => {
    const id = await held();
    await harness.processor.inside.failNextChange(1, 'tok_declined');
    const refused = await harness.change(`${id}/capture`, 'k');

    expect(refused.status).toBe(402);
    expect(refused.body).toMatchObject({ code: 'capture_failed', payment: { id, status: 'requires_capture' } });
    expect(meaning(await harness.change(`${id}/capture`, 'k'))).toEqual(meaning(refused));
    expect((await harness.change(`${id}/capture`, 'another')).status).toBe(200);
  });
});

describe('a cancellation', () => {
  test.each([
    ['its capture', { capture: 'manual' }],
    ['its payer', { source: 'tok_action' }],
  ])('cancels a payment that waits for %s, and frees its reference', async (_what, body) => {
    const id = await paid({ ...body, reference: 'order-1' });
    const reply = await harness.change(`${id}/cancel`, 'k');

    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({ Location: `../../../v1/payments/${id}` });
    expect(reply.body).toMatchObject({ status: 'canceled', amount_captured: 0, cancellation_reason: 'requested' });
    expect(await show(id)).toEqual(reply.body);
    expect((await harness.pay('again', { reference: 'order-1' })).status).toBe(201);
  });

  test('returns 409 with Retry-After while a capture is in progress', async () => {
    const id = await held();
    const rival = Promise.withResolvers<Reply>();
    const { processor } = harness;
    const synchronized = withProcessor({
      change: async (...call) => {
        rival.resolve(await harness.change(`${id}/cancel`, 'k'));
        return processor.change(...call);
      },
    });

    expect((await synchronized.change(`${id}/capture`, 'k')).status).toBe(200);
    const reply = await rival.promise;
    expect([reply.status, reply.body]).toMatchObject([409, { code: 'change_in_progress' }]);
    expect(reply.headers['Retry-After']).toBe('1');
  });
});

describe('a refund', () => {
  test('refunds the full amount if the request has no body, and appears in the payment and in the list of refunds', async () => {
    const id = await paid();
    const reply = await harness.change(`${id}/refunds`, 'k');

    expect(reply.status).toBe(201);
    expect(reply.headers).toMatchObject({ Location: `../../../v1/refunds/${String(reply.body['id'])}` });
    expect(reply.body).toMatchObject({
      object: 'refund',
      payment: id,
      amount: 1000,
      status: 'succeeded',
      reason: null,
    });
    expect((await harness.get(`/v1/refunds/${String(reply.body['id'])}`)).text).toBe(reply.text);
    expect(await refundsOf(id)).toEqual([reply.body]);
    expect(await show(id)).toMatchObject({ status: 'succeeded', amount_captured: 1000, amount_refunded: 1000 });
  });

  test.each([
    ['JPY', 5000, 1],
    ['EUR', 5000, 1],
    ['KWD', 5000, 1],
    ['KWD', 999_999_999_999, 999_999_999_998],
  ])(
    'uses the minor units of %s: of %d, %d is refunded first, and then the remaining amount',
    async (currency, amount, part) => {
      const id = await paid({ currency, amount });

      expect((await harness.change(`${id}/refunds`, 'a', { amount: part })).body).toMatchObject({
        currency,
        amount: part,
      });
      expect((await harness.change(`${id}/refunds`, 'b')).body).toMatchObject({ currency, amount: amount - part });
      expect(await show(id)).toMatchObject({ amount_refunded: amount });
      expect(refundedAtProcessor(id)).toBe(amount);
    },
  );

  test('is refused if the total of all refunds would exceed the full amount, here after twenty refunds', async () => {
    const id = await paid();
    for (let n = 1; n <= 20; n += 1) {
      expect((await harness.change(`${id}/refunds`, `k-${n}`, { amount: 50 })).status).toBe(201);
      expect(await show(id)).toMatchObject({ amount_refunded: n * 50 });
    }

    for (const body of [{ amount: 1 }, {}]) {
      const more = await harness.change(`${id}/refunds`, 'more', body);
      expect([more.status, more.body]).toMatchObject([409, { code: 'amount_exceeds_left', amount_left: 0 }]);
    }
    expect(new Set((await refundsOf(id)).map((each) => each['id'])).size).toBe(20);
    expect(refundedAtProcessor(id)).toBe(1000);
  });

  test('succeeds ten times if twenty concurrent requests each refund a tenth, and each caller gets a response', async () => {
    const id = await paid();
    const ask = (key: string): Promise<Reply> => harness.change(`${id}/refunds`, key, { amount: 100 });
    const settled: number[] = [];
    let keys = Array.from({ length: 20 }, (_, n) => `k-${n}`);
    for (let round = 0; round < 20 && keys.length > 0; round += 1) {
      const asked = keys;
      const replies = await Promise.all(asked.map(ask));
      const mayRetry = (reply: Reply | undefined) => reply?.headers['Retry-After'] !== undefined;
      settled.push(...replies.filter((reply) => !mayRetry(reply)).map(({ status }) => status));
      keys = asked.filter((_, index) => mayRetry(replies[index]));
      // Wait until the leases of the claims that must be retried have expired.
      harness.clock.advance(30_000);
    }

    expect(settled.filter((status) => status === 201)).toHaveLength(10);
    expect(settled.filter((status) => status === 409)).toHaveLength(10);
    expect(refundedAtProcessor(id)).toBe(1000);
  });

  test('is listed and reduces the remaining amount if it was made at the processor', async () => {
    const id = await paid();
    await harness.change(`${id}/refunds`, 'k', { amount: 300, reason: 'Returned' });
    await harness.processor.inside.refund(chargeOf(id), 200);
    await ledger.world.learn(id);

    expect(await refundsOf(id)).toMatchObject([
      { amount: 300, reason: 'Returned', created: harness.clock.nowMs() / 1000 },
      { amount: 200, reason: null, created: harness.clock.nowMs() / 1000 },
    ]);
    for (const refund of await refundsOf(id)) {
      expect((await harness.get(`/v1/refunds/${String(refund['id'])}`)).body).toEqual(refund);
    }
    expect((await harness.change(`${id}/refunds`, 'more', { amount: 501 })).body).toMatchObject({ amount_left: 500 });
  });

  test('is limited to the money that is not disputed', async () => {
    const id = await paid();
    await harness.processor.inside.dispute(chargeOf(id), 600);
    await ledger.world.learn(id);

    expect((await harness.change(`${id}/refunds`, 'k', { amount: 401 })).body).toMatchObject({ amount_left: 400 });
    expect((await harness.change(`${id}/refunds`, 'k')).body).toMatchObject({ amount: 400 });
  });

  test('returns 202 while it is pending at the processor, and GET shows its outcome', async () => {
    const id = await paid();
    await harness.processor.inside.failNextChange(1, 'tok_async');
    const accepted = await harness.change(`${id}/refunds`, 'k', { amount: 300 });
    const refundId = String(accepted.body['id']);
    expect([accepted.status, accepted.body]).toMatchObject([202, { status: 'pending' }]);
    expect(await show(id)).toMatchObject({ amount_refunded: 0 });

    for (const [status, given] of [
      ['succeeded', 300],
      ['failed', 0],
    ] as const) {
      await harness.processor.inside.endRefund(refundId, status);
      await ledger.world.learn(id);
      expect((await harness.get(`/v1/refunds/${refundId}`)).body).toMatchObject({ status });
      expect(await show(id)).toMatchObject({ amount_refunded: given });
      expect((await harness.change(`${id}/refunds`, 'k', { amount: 300 })).text).toBe(accepted.text);
    }
  });
});

describe.each([
  ['capture', 'capture', held],
  ['cancellation', 'cancel', held],
  ['refund', 'refunds', paid],
] as const)('every %s', (_what, step, make) => {
  let id: PaymentId;

  beforeEach(async () => {
    id = await make();
  });

  const ask = (key: string, body?: Readonly<Record<string, unknown>>) => harness.change(`${id}/${step}`, key, body);

  test('takes effect once; requests without a body, with an empty body and with {} get the same response byte for byte', async () => {
    const first = await ask('k');
    const replies = [await ask('k'), await ask('k', {}), await harness.change(`${id}/${step}`, 'k', {}, emptyBody)];

    expect(first.headers).not.toHaveProperty('Idempotency-Replayed');
    for (const reply of replies) {
      expect(meaning(reply)).toEqual(meaning(first));
      expect(reply.headers['Idempotency-Replayed']).toBe('true');
    }
    expect(harness.processor.inside.applied).toHaveLength(1);
    const [, log] = harness.reports;
    expect(log).toMatchObject({ counts: ['first'], report: { route: `/v1/payments/{id}/${step}`, outcome: 'first' } });
    expect(harness.reports.at(-1)).toMatchObject({
      counts: ['replay_warm'],
      report: { operationId: log?.report.operationId },
    });
  });

  test('is replayed from the store, and returns 409 after the stored response has expired', async () => {
    const first = await ask('k');
    expect(meaning(await withProcessor({}).change(`${id}/${step}`, 'k'))).toEqual(meaning(first));

    harness.clock.advance(30 * 24 * 3_600_000);
    const late = await ask('k');
    expect([late.status, late.body]).toMatchObject([409, { code: 'idempotency_key_expired', payment_id: id }]);
    expect(harness.processor.inside.applied).toHaveLength(1);
  });

  test('requires an idempotency key, and accepts no unknown field or parameter', async () => {
    const replies = [
      [await ask(''), 'missing_idempotency_key', undefined],
      [await ask('two words'), 'invalid_idempotency_key', undefined],
      [await ask('k', { currency: 'EUR' }), 'unknown_field', 'currency'],
      [await harness.change(`${id}/${step}?expand=charge`, 'k'), 'unknown_parameter', 'expand'],
      [await harness.change(`${id}/${step}`, 'k', {}, { event: { body: '[]' } }), 'invalid_json', undefined],
    ] as const;

    for (const [{ status, body }, code, param] of replies) {
      expect([status, body['code'], body['param']]).toEqual([400, code, param]);
    }
    expect(harness.processor.inside.applied).toEqual([]);
    expect((await ask('k')).status).toBeLessThan(300);
  });

  test('is a separate request even if its key was used for another payment, or to create this payment', async () => {
    const other = await (make === held ? held('other') : paid({}, 'other'));
    const replies = [await ask('pay'), await harness.change(`${other}/${step}`, 'pay')];

    expect(replies.map(({ headers }) => headers['Idempotency-Replayed'])).toEqual([undefined, undefined]);
    expect(replies.map(({ status }) => status)).toEqual(step === 'refunds' ? [201, 201] : [200, 200]);
    expect(harness.processor.inside.applied.map(({ paymentId }) => paymentId)).toEqual([id, other]);
  });

  test('returns 404 for a payment of another tenant, discloses nothing and has no effect', async () => {
    harness.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
    harness.registerKey('sk_live_0123456789abcdefghijkl', { mode: 'live' });
    const before = await typesOf(id);
    for (const key of [OTHER_KEY, 'sk_live_0123456789abcdefghijkl']) {
      const [foreign, unknown, malformed] = await Promise.all(
        [id, UNKNOWN_ID, 'no-id'].map((each) => harness.change(`${each}/${step}`, 'k', {}, as(key))),
      );
      invariant(foreign !== undefined && unknown !== undefined && malformed !== undefined, 'a reply is missing');
      expect(foreign.body).toMatchObject({ status: 404, code: 'not_found', detail: 'There is no such payment.' });
      expect(withoutRequestId(foreign)).toEqual(withoutRequestId(unknown));
      expect(withoutRequestId(malformed)).toEqual(withoutRequestId(unknown));
    }
    expect(await typesOf(id)).toEqual(before);
    expect((await ask('k')).status).toBeLessThan(300);
  });

  test('requires the write scope', async () => {
    harness.registerKey(OTHER_KEY, { scopes: [Scopes.paymentsRead] });
    const reply = await harness.change(`${id}/${step}`, 'k', {}, as(OTHER_KEY));

    expect([reply.status, reply.body]).toMatchObject([403, { code: 'insufficient_scope' }]);
    expect(harness.processor.inside.applied).toEqual([]);
  });

  test.each([
    ['its breaker is open', '10', () => harness.processor.inside.goDown()],
    ['its rate limit is reached', '1', () => harness.processor.inside.failNextChange(1, 'tok_rate_limited')],
    ['it rejects our credential', '1', () => harness.processor.inside.failNextChange(1, 'tok_unauthorized')],
  ])(
    'returns 503 while the processor cannot be called (%s), and leaves the key usable',
    async (_why, seconds, break_) => {
      await break_();
      const away = await ask('k');
      expect([away.status, away.body]).toMatchObject([503, { code: 'processor_unavailable' }]);
      expect(away.headers['Retry-After']).toBe(seconds);

      await harness.processor.inside.recover();
      const again = await ask('k');
      expect(again.status).toBe(step === 'refunds' ? 201 : 200);
      expect(again.headers).not.toHaveProperty('Idempotency-Replayed');
      expect(harness.processor.inside.applied).toHaveLength(1);
    },
  );

  test('returns 202, also to each retry, if the outcome is not known in time; GET returns the outcome later', async () => {
    const { processor } = harness;
    const noAnswer = () => Promise.reject(new AmbiguousError('processor_timeout', 'no response'));
    let isSent = false;
    const reply = await withProcessor({
      change: async (...call) => {
        await processor.change(...call);
        isSent = true;
        return noAnswer();
      },
      findChange: noAnswer,
      showCharge: (...call) => (isSent ? noAnswer() : processor.showCharge(...call)),
    }).change(`${id}/${step}`, 'k');
    expect(reply.status).toBe(202);
    const before = reply.body['object'] === 'refund' ? `/v1/refunds/${String(reply.body['id'])}` : `/v1/payments/${id}`;
    expect(reply.headers['Location']).toBe(`../../..${before}`);
    expect((await harness.get(before)).text).toBe(reply.text);

    await ledger.world.learn(id);
    expect((await harness.get(before)).body).toMatchObject({ status: step === 'cancel' ? 'canceled' : 'succeeded' });
    expect(meaning(await ask('k'))).toEqual(meaning(reply));
    expect(processor.inside.applied).toHaveLength(1);
  });
});
