import { beforeEach, describe, expect, test } from '@jest/globals';
import { Scopes } from '../../lambdas/kernel/contract/api.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { Api, as, dataOf, OTHER_KEY, type Reply } from '../world/api.ts';
import { withoutRequestId } from './replies.ts';

const UNKNOWN = 'a'.repeat(32);

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

const paid = async (body: Readonly<Record<string, unknown>> = {}) => {
  const reply = await harness.pay('pay', body);
  const { payment = reply.body } = reply.body as { payment?: Record<string, unknown> };
  return String((payment as Record<string, unknown>)['id']);
};
const held = () => paid({ capture: 'manual' });

describe.each([
  ['capture', 'capture', held],
  ['refund', 'refunds', paid],
] as const)('the amount of a %s', (_what, step, make) => {
  test.each([0, -1, 10.5, '300', '', null, true, [300], 1_000_000_000_000, Number.MAX_SAFE_INTEGER])(
    'returns 400 with the name of the field if it is %j, and leaves the key unused',
    async (amount) => {
      const id = await make();
      const reply = await harness.change(`${id}/${step}`, 'k', { amount });

      expect([reply.status, reply.body]).toMatchObject([400, { code: 'invalid_request', param: 'amount' }]);
      expect(harness.processor.inside.applied).toEqual([]);
      expect((await harness.change(`${id}/${step}`, 'k', { amount: 300 })).status).toBeLessThan(300);
    },
  );

  test('returns 422 if the same key is reused with a different amount, and the stored response stays unchanged', async () => {
    const id = await make();
    const first = await harness.change(`${id}/${step}`, 'k', { amount: 300 });

    for (const body of [{ amount: 301 }, {}]) {
      const other = await harness.change(`${id}/${step}`, 'k', body);
      expect([other.status, other.body]).toMatchObject([422, { code: 'idempotency_key_payload_mismatch' }]);
    }
    expect((await harness.change(`${id}/${step}`, 'k', { amount: 300 })).text).toBe(first.text);
    expect(harness.processor.inside.applied).toHaveLength(1);
  });

  test('is refused if it exceeds the remaining amount; the response states the remaining amount, and nothing is stored', async () => {
    const id = await make();
    const much = await harness.change(`${id}/${step}`, 'k', { amount: 1001 });

    expect([much.status, much.body]).toMatchObject([
      409,
      {
        code: 'amount_exceeds_left',
        param: 'amount',
        amount_left: 1000,
        detail: 'The remaining amount is 1000 minor units.',
      },
    ]);
    expect((await harness.change(`${id}/${step}`, 'k', { amount: 1000 })).status).toBeLessThan(300);
  });
});

describe('the reason of a refund', () => {
  test.each(['', 'x'.repeat(201), 7, null])('returns 400 with the name of the field if it is %j', async (reason) => {
    const reply = await harness.change(`${await paid()}/refunds`, 'k', { reason });
    expect([reply.status, reply.body]).toMatchObject([400, { code: 'invalid_request', param: 'reason' }]);
  });

  test('may have up to 200 UTF-16 code units, and is stored unchanged', async () => {
    const reason = `${'é'.repeat(198)}🙂`;
    const reply = await harness.change(`${await paid()}/refunds`, 'k', { reason });
    expect([reply.status, reply.body]).toMatchObject([201, { reason }]);
  });

  test('is refused if it contains a card number, and the number is never echoed', async () => {
    const reply = await harness.change(`${await paid()}/refunds`, 'k', { reason: 'of card 4242 4242 4242 4242' });
    expect([reply.status, reply.body]).toMatchObject([400, { code: 'card_number_not_allowed', param: 'reason' }]);
    expect(reply.text).not.toContain('4242');
  });
});

describe('a body', () => {
  test.each([
    ['capture', { reason: 'x' }, 'reason'],
    ['capture', { amount_to_capture: 1 }, 'amount_to_capture'],
    ['cancel', { amount: 1 }, 'amount'],
    ['cancel', { reason: 'x' }, 'reason'],
    ['refunds', { payment: 'x' }, 'payment'],
  ])(
    'of a %s request is refused with 400 if it has an unknown field, which the error names: %j',
    async (step, body, param) => {
      const reply = await harness.change(`${await held()}/${step}`, 'k', body);
      expect([reply.status, reply.body]).toMatchObject([400, { code: 'unknown_field', param }]);
    },
  );

  test('is refused before the payment is read if it has a duplicate key, a wrong media type or too many bytes', async () => {
    for (const [body, headers, status] of [
      ['{"amount":300,"amount":1}', {}, 400],
      ['{}', { 'Content-Type': 'text/plain' }, 415],
      ['x'.repeat(300_000), {}, 413],
    ] as const) {
      const asked = { headers, event: { body } };
      expect((await harness.change(`pay_${UNKNOWN}/refunds`, 'k', {}, asked)).status).toBe(status);
    }
  });
});

describe('a payment', () => {
  const failed = { source: 'tok_declined' };
  const waiting = { source: 'tok_async' };
  const asking = { source: 'tok_action' };
  const manual = { capture: 'manual' };

  test.each([
    ['succeeded', {}, 'capture', 'payment_not_capturable'],
    ['failed', failed, 'capture', 'payment_not_capturable'],
    ['processing', waiting, 'capture', 'payment_not_capturable'],
    ['requires_action', asking, 'capture', 'payment_not_capturable'],
    ['succeeded', {}, 'cancel', 'payment_not_cancelable'],
    ['failed', failed, 'cancel', 'payment_not_cancelable'],
    ['processing', waiting, 'cancel', 'payment_not_cancelable'],
    ['requires_capture', manual, 'refunds', 'payment_not_refundable'],
    ['failed', failed, 'refunds', 'payment_not_refundable'],
    ['processing', waiting, 'refunds', 'payment_not_refundable'],
    ['requires_action', asking, 'refunds', 'payment_not_refundable'],
  ])(
    'in the status %s (created with %j) returns 409 and its status to the request %s',
    async (status, body, step, code) => {
      const reply = await harness.change(`${await paid(body)}/${step}`, 'k');

      expect([reply.status, reply.body]).toMatchObject([409, { code, payment_status: status }]);
      expect(harness.processor.inside.applied).toEqual([]);
    },
  );

  test('cannot be captured, canceled or refunded after its cancellation, and the refused key stays usable', async () => {
    const id = await held();
    expect((await harness.change(`${id}/refunds`, 'k')).body).toMatchObject({ code: 'payment_not_refundable' });
    await harness.change(`${id}/cancel`, 'c');
    for (const step of ['capture', 'cancel', 'refunds']) {
      expect((await harness.change(`${id}/${step}`, 'k')).body).toMatchObject({ payment_status: 'canceled' });
    }

    const other = String((await harness.pay('other', { capture: 'manual' })).body['id']);
    expect((await harness.change(`${other}/refunds`, 'k')).status).toBe(409);
    await harness.change(`${other}/capture`, 'c');
    expect((await harness.change(`${other}/refunds`, 'k')).status).toBe(201);
  });

  test('returns 409 with Retry-After while another process handles the key, and later replays the response of that process', async () => {
    const id = await paid();
    const rival = Promise.withResolvers<Reply>();
    const { processor } = harness;
    const first = harness.with({
      processor: {
        ...processor,
        change: async (...call) => {
          rival.resolve(await harness.change(`${id}/refunds`, 'k'));
          return processor.change(...call);
        },
      },
    });
    const answered = await first.change(`${id}/refunds`, 'k');

    const running = await rival.promise;
    expect([running.status, running.body]).toMatchObject([409, { code: 'idempotency_key_in_progress' }]);
    expect(running.headers['Retry-After']).toBe('1');
    expect((await harness.change(`${id}/refunds`, 'k')).text).toBe(answered.text);
  });
});

describe('refunds and lists of refunds', () => {
  test('are visible only to their own tenant and mode', async () => {
    const id = await paid();
    const refund = String((await harness.change(`${id}/refunds`, 'k', { amount: 300 })).body['id']);
    harness.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
    harness.registerKey('sk_live_0123456789abcdefghijkl', { mode: 'live' });

    for (const key of [OTHER_KEY, 'sk_live_0123456789abcdefghijkl']) {
      for (const [own, ...strange] of [
        [`/v1/refunds/${refund}`, `/v1/refunds/ref_${UNKNOWN}${'a'.repeat(26)}`, '/v1/refunds/no-id'],
        [`/v1/payments/${id}/refunds`, `/v1/payments/pay_${UNKNOWN}/refunds`, '/v1/payments/no-id/refunds'],
      ] as const) {
        const foreign = await harness.get(own, as(key));
        expect(foreign.body).toMatchObject({ status: 404, code: 'not_found' });
        for (const path of strange) {
          expect(withoutRequestId(await harness.get(path, as(key)))).toEqual(withoutRequestId(foreign));
        }
      }
    }
  });

  test('accept no query parameters', async () => {
    const id = await paid();
    for (const path of [`/v1/payments/${id}/refunds?limit=1`, '/v1/refunds/x?expand=payment']) {
      expect((await harness.get(path)).body).toMatchObject({ status: 400, code: 'unknown_parameter' });
    }
  });

  test('return an empty list for a payment without refunds, and 404 for the id of another object', async () => {
    const id = await held();
    expect(dataOf(await harness.get(`/v1/payments/${id}/refunds`))).toEqual([]);
    await harness.change(`${id}/capture`, 'k');
    const letters = id.slice('pay_'.length);
    for (const strange of [
      id,
      `cap_${letters}${'a'.repeat(26)}`,
      `ref_${letters}${'a'.repeat(26)}`,
      `ref_${letters}`,
    ]) {
      expect((await harness.get(`/v1/refunds/${strange}`)).status).toBe(404);
    }
  });

  test('can be read only with the read scope, which does not permit new refunds', async () => {
    const id = await paid();
    const refund = String((await harness.change(`${id}/refunds`, 'k', { amount: 300 })).body['id']);
    const paths = [`/v1/payments/${id}/refunds`, `/v1/refunds/${refund}`];
    harness.registerKey(OTHER_KEY, { scopes: [Scopes.paymentsWrite] });
    for (const path of paths) expect((await harness.get(path, as(OTHER_KEY))).status).toBe(403);

    harness.clock.advance(10_000);
    harness.registerKey(OTHER_KEY, { scopes: [Scopes.paymentsRead] });
    for (const path of paths) expect((await harness.get(path, as(OTHER_KEY))).status).toBe(200);
    expect((await harness.change(`${id}/refunds`, 'k', {}, as(OTHER_KEY))).status).toBe(403);
  });

  test('return the status and the content type to HEAD, but no body', async () => {
    const id = await paid();
    const refund = String((await harness.change(`${id}/refunds`, 'k')).body['id']);
    for (const path of [`/v1/payments/${id}/refunds`, `/v1/refunds/${refund}`]) {
      const head = await harness.ask('HEAD', path);
      expect([head.status, head.text, head.headers['Content-Type']]).toEqual([200, '', 'application/json']);
    }
  });
});

describe('a request with an unsupported method or an unknown path', () => {
  test.each([
    ['GET', `/v1/payments/pay_${UNKNOWN}/capture`, 'POST'],
    ['HEAD', `/v1/payments/pay_${UNKNOWN}/capture`, 'POST'],
    ['DELETE', `/v1/payments/pay_${UNKNOWN}/cancel`, 'POST'],
    ['PUT', `/v1/payments/pay_${UNKNOWN}/refunds`, 'POST, GET, HEAD'],
    ['POST', `/v1/refunds/ref_${UNKNOWN}`, 'GET, HEAD'],
    ['OPTIONS', `/v1/refunds/ref_${UNKNOWN}`, 'GET, HEAD'],
  ])('returns 405 with the allowed methods before any key is checked: %s %s', async (method, path, allow) => {
    const reply = await harness.ask(method, path, as('wrong'));

    expect([reply.status, reply.headers['Allow']]).toEqual([405, allow]);
    expect(harness.lookups).toEqual([]);
  });

  test.each(['/v1/refunds', `/v1/payments/pay_${UNKNOWN}/void`, `/v1/payments/pay_${UNKNOWN}/refunds/x`])(
    'returns 404 on an unknown path: %s',
    async (path) => {
      expect((await harness.ask('POST', path)).status).toBe(404);
    },
  );
});
