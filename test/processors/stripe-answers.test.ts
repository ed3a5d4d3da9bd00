import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { stripeTransport } from '../../lambdas/processors/stripe/stripe-transport.ts';
import { freshOrder } from '../orders/sandbox-orders.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { httpAnswer, type RawServer, serveRaw } from '../sandbox/sandbox-raw-server.ts';
import { fc } from '../support/properties.ts';
import { clientAt } from './stripe-double-client.ts';

const LIMIT = { timeoutMs: 600_000 };
const SHORT = { timeoutMs: 150 };

describe('the Stripe adapter classifies each response by its possible effect:', () => {
  const wanted = freshOrder({ source: 'pm_card_visa' });
  let server: RawServer;
  let script: (socket: Socket) => void;
  let client: Processor;
  beforeEach(async () => {
    server = await serveRaw((socket) => script(socket));
    client = clientAt(server.url);
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  const answers = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) => {
    script = (socket) => {
      socket.end(httpAnswer(status, body, headers));
    };
  };
  const refusal = (error: object) =>
    JSON.stringify({ error: { type: 'invalid_request_error', message: 'no', ...error } });
  const intent = (changes: object = {}) =>
    JSON.stringify({
      id: 'pi_1',
      object: 'payment_intent',
      livemode: false,
      amount: 1_999,
      amount_received: 1_999,
      currency: 'eur',
      capture_method: 'automatic',
      status: 'succeeded',
      cancellation_reason: null,
      last_payment_error: null,
      next_action: null,
      latest_charge: 'ch_1',
      metadata: { payment: wanted.paymentId, operation: wanted.operationId },
      created: 1_767_225_600,
      ...changes,
    });

  test.each([400, 404, 422])('a %d response with a readable error is a rejection', async (status) => {
    answers(status, refusal({ code: 'bad_thing' }));
    expect(await client.charge(wanted, LIMIT)).toEqual({
      kind: 'rejected',
      failure: { code: 'bad_thing', message: 'no' },
    });
  });

  test('a rejection names its PaymentIntent and has a truncated message without secrets and card numbers', async () => {
    const message = `The card 4242 4242 4242 4242 and sk_test_${'a'.repeat(24)} ${'x'.repeat(300)}`;
    answers(400, refusal({ code: 'c'.repeat(100), message, payment_intent: { id: 'pi_1', client_secret: 's' } }));
    const outcome = await client.charge(wanted, LIMIT);
    expect(outcome).toMatchObject({ kind: 'rejected', chargeId: 'pi_1', failure: { code: 'c'.repeat(64) } });
    const reported = 'failure' in outcome ? outcome.failure.message : '';
    expect(reported).toHaveLength(200);
    expect(reported).toMatch(/^The card \[card number\] and \[secret\] x+$/);
  });

  test('an object from the other mode is detected at any depth of a response', async () => {
    const nested = fc.letrec((tie) => ({
      found: fc.oneof(
        { depthSize: 'small' },
        fc.record({ object: fc.constant('charge'), livemode: fc.constant(true) }),
        fc.record({ data: fc.tuple(fc.jsonValue({ maxDepth: 1 }), tie('found')) }),
        fc.record({ other: fc.jsonValue({ maxDepth: 1 }), part: tie('found') }),
      ),
    })).found;
    const transport = (text: string) =>
      stripeTransport({
        baseUrl: 'https://stripe.example',
        mode: 'test',
        clock: { nowMs: () => 0 },
        send: async () => ({ status: 200, retryAfter: null, headers: new Headers(), text }),
      }).makeRequest('', '', '/v1/x', 'GET', {}, '', 'https', 1_000);
    await fc.assert(
      fc.asyncProperty(nested, async (part) => {
        const text = JSON.stringify({ object: 'list', livemode: false, part });
        await expect(transport(text)).rejects.toMatchObject({ code: 'processor_answer_mismatch' });
      }),
      { numRuns: 500 },
    );
  });

  test('a "livemode" in metadata does not affect the mode', async () => {
    const metadata = { payment: wanted.paymentId, operation: wanted.operationId, livemode: 'true' };
    answers(200, intent({ metadata }));
    expect(await client.charge(wanted, LIMIT)).toMatchObject({ kind: 'succeeded' });
  });

  test.each([
    ['120', 120],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
  ])('a 429 with Retry-After: %s is retryable after %d seconds', async (header, seconds) => {
    answers(429, refusal({ code: 'rate_limit' }), { 'retry-after': header });
    await expect(client.charge(wanted, LIMIT)).rejects.toMatchObject({
      name: 'RetryableError',
      code: 'processor_rate_limited',
      retryAfterSeconds: seconds,
    });
  });

  test.each([
    ['400 with code rate_limit', 400, refusal({ code: 'rate_limit' }), 'processor_rate_limited'],
    ['unreadable 429', 429, '<html></html>', 'processor_rate_limited'],
    ['unreadable 401', 401, '', 'processor_unauthorized'],
  ])('%s is retryable, because nothing was applied', async (_what, status, body, code) => {
    answers(status, body);
    await expect(client.charge(wanted, LIMIT)).rejects.toMatchObject({ name: 'RetryableError', code });
  });

  test.each([
    ['500', 500, refusal({ type: 'api_error' }), 'processor_error'],
    ['502 with an HTML page', 502, '<html></html>', 'processor_error'],
    ['500 with an intent', 500, intent(), 'processor_error'],
    ['409', 409, refusal({ code: 'idempotency_key_in_use' }), 'processor_conflict'],
    ['409 with lock_timeout', 409, refusal({ code: 'lock_timeout' }), 'processor_conflict'],
    ['400 with lock_timeout', 400, refusal({ code: 'lock_timeout' }), 'processor_conflict'],
    ['400 from the API', 400, refusal({ type: 'api_error' }), 'processor_answer_unexpected'],
    ['400 for a known key', 400, refusal({ type: 'idempotency_error' }), 'processor_answer_mismatch'],
    ['418', 418, refusal({}), 'processor_answer_unexpected'],
    ['a redirect', 307, '', 'processor_answer_unexpected'],
    ['200 with an error inside', 200, refusal({ type: 'card_error' }), 'processor_answer_unreadable'],
    ['200 without a body', 200, '', 'processor_answer_unreadable'],
    ['200 with null', 200, 'null', 'processor_answer_unreadable'],
    ['200 with a truncated intent', 200, intent().slice(0, -9), 'processor_answer_unreadable'],
    ['200 with another object', 200, '{"object":"charge"}', 'processor_answer_unreadable'],
    ['200 with an unknown status', 200, intent({ status: 'thinking' }), 'processor_answer_unreadable'],
    ['200 from the other mode', 200, intent({ livemode: true }), 'processor_answer_mismatch'],
    [
      '200 with a nested object from the other mode',
      200,
      intent({ latest_charge: { id: 'ch_1', livemode: true } }),
      'processor_answer_mismatch',
    ],
    ['200 without a mode', 200, intent({ livemode: undefined }), 'processor_answer_unreadable'],
    [
      '402 from the other mode',
      402,
      refusal({ type: 'card_error', payment_intent: { id: 'pi_1', livemode: true } }),
      'processor_answer_mismatch',
    ],
    ['unreadable 402', 402, '', 'processor_answer_unreadable'],
    ['400 without an error inside', 400, '{}', 'processor_answer_unreadable'],
  ])('%s leaves the outcome unknown, and the charge is not resent', async (_what, status, body, code) => {
    answers(status, body);
    await expect(client.charge(wanted, LIMIT)).rejects.toMatchObject({ name: 'AmbiguousError', code });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['amount', { amount: 1_998, amount_received: 1_998 }],
    ['captured amount', { amount_received: 1 }],
    ['currency', { currency: 'usd' }],
    ['capture method', { capture_method: 'manual' }],
    ['payment', { metadata: { payment: 'pay_other', operation: 'pay_other' } }],
    ['status (no payment method)', { status: 'requires_payment_method' }],
    ['status (not confirmed)', { status: 'requires_confirmation' }],
    ['status (only authorized)', { status: 'requires_capture' }],
  ])('an intent whose %s does not fit the request is a mismatch', async (_field, changes) => {
    answers(200, intent(changes));
    await expect(client.charge(wanted, LIMIT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_answer_mismatch',
    });
  });

  test('a fee is reported in the currency of the account, which may differ from the payment’s currency', async () => {
    const charge = { id: 'ch_1', disputed: false, balance_transaction: { fee: 95, currency: 'usd' } };
    answers(200, intent({ latest_charge: charge }));
    expect(await client.charge(wanted, LIMIT)).toEqual({
      kind: 'succeeded',
      chargeId: 'pi_1',
      otherFees: [{ amountMinor: 95, currency: 'USD' }],
    });
  });

  test.each<[string, (socket: Socket) => void]>([
    ['a truncated body', (socket) => socket.end(httpAnswer(200, intent()).slice(0, -20))],
    ['a connection closed without a response', (socket) => socket.end()],
    ['a reset instead of a response', (socket) => socket.resetAndDestroy()],
    ['a response that is not HTTP', (socket) => socket.end('hello\r\n\r\n')],
  ])('%s leaves the outcome unknown, and the charge is not resent', async (_what, answer) => {
    script = answer;
    await expect(client.charge(wanted, LIMIT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_connection_lost',
    });
    expect(server.requests).toHaveLength(1);
  });

  test('a response that arrives byte by byte still times out at the limit', async () => {
    script = (socket) => {
      const bytes = httpAnswer(200, intent());
      let at = 0;
      const drip = setInterval(() => {
        if (socket.destroyed) return clearInterval(drip);
        socket.write(bytes.slice(at, at + 1));
        at += 1;
      }, 10);
    };
    await expect(client.charge(wanted, SHORT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_timeout',
    });
  });

  test('an endless response is aborted as too large', async () => {
    script = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const chunk = `8000\r\n${' '.repeat(0x8000)}\r\n`;
      const pour = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', pour);
      pour();
    };
    await expect(client.charge(wanted, LIMIT)).rejects.toMatchObject({ code: 'processor_answer_too_large' });
  });

  test.each([
    ['a refused connection', closedUrl],
    // RFC 6761: names under .invalid never resolve.
    ['an unresolvable host name', async () => 'http://stripe.invalid'],
  ])('%s is retryable, because nothing was applied', async (_what, url) => {
    await expect(clientAt(await url()).charge(wanted, LIMIT)).rejects.toMatchObject({
      name: 'RetryableError',
      code: 'processor_unreachable',
    });
  });
});

async function closedUrl(): Promise<string> {
  const closed = createServer();
  const url = await listenOnLoopback(closed);
  await stopListening(closed);
  return url;
}
