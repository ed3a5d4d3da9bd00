/** Tests the guarantee "separate modes". */
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import type { ChargeOrder, Processor } from '../../lambdas/payments/use/processor.ts';
import { sandboxContract } from '../../lambdas/processors/sandbox/contract.ts';
import { createSandboxBooks } from '../../lambdas/processors/sandbox/sandbox-books.ts';
import { createSandboxClient } from '../../lambdas/processors/sandbox/sandbox-client.ts';
import { chargeFor, freshOrder } from '../orders/sandbox-orders.ts';
import { callSandbox } from '../sandbox/sandbox-calls.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { httpAnswer, type RawServer, serveRaw } from '../sandbox/sandbox-raw-server.ts';
import { serveSandbox } from '../sandbox/sandbox-server.ts';
import { createTestSandbox, SANDBOX_START_MS } from '../sandbox/sandbox-world.ts';
import { describeProcessor } from './processor-suite.ts';

const CLOCK = { nowMs: () => SANDBOX_START_MS };
const LIMIT = { timeoutMs: 600_000 };
const listOf = z.object({ data: z.array(z.object({ id: z.string(), status: z.string() })) });

describeProcessor('sandbox client over HTTP', sandboxContract.abilities, async () => {
  const sandbox = createTestSandbox();
  const { handler } = sandbox;
  const server = await serveSandbox(handler);
  return {
    processor: createSandboxClient({ url: server.url, clock: CLOCK }),
    chargesOf: async (paymentId) => {
      const { body } = await callSandbox(handler, { method: 'GET', path: '/charges', query: { payment: paymentId } });
      return listOf.parse(JSON.parse(body)).data;
    },
    failNext: async (count, source) => {
      await callSandbox(handler, { method: 'PUT', path: '/control/failures', body: JSON.stringify({ count, source }) });
    },
    advance: (milliseconds) => sandbox.advance(milliseconds),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
});

describe('for the sandbox client,', () => {
  let order: ChargeOrder;
  let server: RawServer;
  let script: (socket: Socket) => void;
  let client: Processor;

  beforeEach(async () => {
    order = freshOrder();
    server = await serveRaw((socket) => script(socket));
    client = createSandboxClient({ url: server.url, clock: CLOCK });
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  const answers = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) => {
    script = (socket) => {
      socket.end(httpAnswer(status, body, headers));
    };
  };
  const refusal = (code: string) => JSON.stringify({ error: { code, message: 'no' } });

  test('a request contains the operation id as the idempotency key, and the ids of payment and operation in the metadata', async () => {
    answers(201, JSON.stringify(chargeFor(order)));
    expect(await client.charge(order, LIMIT)).toEqual({ kind: 'succeeded', chargeId: 'ch_1' });
    const [request = ''] = server.requests;
    expect(request).toContain('POST /charges HTTP/1.1');
    expect(request).toContain(`idempotency-key: ${order.operationId}\r\n`);
    expect(JSON.parse(request.slice(request.indexOf('\r\n\r\n')))).toEqual({
      amount: 1_999,
      currency: 'EUR',
      source: 'tok_ok',
      capture: 'automatic',
      metadata: { payment: order.paymentId, operation: order.operationId },
    });
  });

  test.each(['test', 'live'] as const)('a response from the other mode is ambiguous in %s mode', async (mode) => {
    const access = { url: server.url, clock: CLOCK, mode };
    const [right, wrong] = [true, false].map((isRight) => ({
      ...chargeFor(order),
      livemode: (mode === 'live') === isRight,
    }));
    const mismatch = { name: 'AmbiguousError', code: 'processor_answer_mismatch' };
    const caller = createSandboxClient(access);
    const books = createSandboxBooks(access);
    answers(201, JSON.stringify(right));
    expect(await caller.charge(order, LIMIT)).toEqual({ kind: 'succeeded', chargeId: 'ch_1' });
    answers(201, JSON.stringify(wrong));
    await expect(caller.charge(order, LIMIT)).rejects.toMatchObject(mismatch);
    answers(200, JSON.stringify({ data: [right, wrong], next: null }));
    await expect(caller.findCharge(order, LIMIT)).rejects.toMatchObject(mismatch);
    await expect(books.chargesOfPayment(order.paymentId, LIMIT)).rejects.toMatchObject(mismatch);
    answers(200, JSON.stringify(wrong, undefined, 2));
    await expect(books.readCharge('ch_1', LIMIT)).rejects.toMatchObject(mismatch);
  });

  test('a "livemode" in the metadata does not affect the mode of a response', async () => {
    const quoted = { ...chargeFor(order).metadata, livemode: 'true', note: '"livemode":true' };
    answers(201, JSON.stringify({ ...chargeFor(order), metadata: quoted }));
    expect(await client.charge(order, LIMIT)).toEqual({ kind: 'succeeded', chargeId: 'ch_1' });
  });

  test.each([400, 404, 422])('a %d response with a readable error is a rejection', async (status) => {
    answers(status, refusal('bad_thing'));
    expect(await client.charge(order, LIMIT)).toEqual({
      kind: 'rejected',
      failure: { code: 'bad_thing', message: 'no' },
    });
  });

  test('a 402 response with a readable error is a decline, with or without a charge', async () => {
    answers(402, refusal('card_declined'));
    expect(await client.charge(order, LIMIT)).toEqual({
      kind: 'declined',
      failure: { code: 'card_declined', message: 'no' },
    });
    answers(402, JSON.stringify({ error: { code: 'card_declined', message: 'no', charge: 'ch_2' } }));
    expect(await client.charge(order, LIMIT)).toEqual({
      kind: 'declined',
      chargeId: 'ch_2',
      failure: { code: 'card_declined', message: 'no' },
    });
  });

  test.each([
    [401, 'processor_unauthorized'],
    [403, 'processor_unauthorized'],
    [429, 'processor_rate_limited'],
  ])('%d is retryable, because nothing was applied', async (status, code) => {
    answers(status, refusal('no_entry'));
    await expect(client.charge(order, LIMIT)).rejects.toMatchObject({ name: 'RetryableError', code });
    await expect(client.findCharge(order, LIMIT)).rejects.toMatchObject({ name: 'RetryableError', code });
  });

  test.each([
    ['120', 120],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['999999', 3_600],
    ['soon', undefined],
    ['1.5', undefined],
  ])('Retry-After: %s is parsed as %p seconds', async (header, seconds) => {
    answers(429, refusal('slow_down'), { 'retry-after': header });
    await expect(client.charge(order, LIMIT)).rejects.toMatchObject({ retryAfterSeconds: seconds });
  });

  test.each([
    ['500', 500, refusal('internal'), 'processor_error'],
    ['502 with an HTML page', 502, '<html></html>', 'processor_error'],
    ['503', 503, '', 'processor_error'],
    ['504', 504, '', 'processor_error'],
    ['409', 409, refusal('busy'), 'processor_conflict'],
    ['408', 408, refusal('late'), 'processor_answer_unexpected'],
    ['418', 418, refusal('teapot'), 'processor_answer_unexpected'],
    ['200 with an error inside', 200, refusal('card_declined'), 'processor_answer_unexpected'],
    ['201 with an error inside', 201, refusal('card_declined'), 'processor_answer_unreadable'],
    ['201 without a body', 201, '', 'processor_answer_unreadable'],
    ['201 with broken JSON', 201, '{"id":"ch_1","object":"char', 'processor_answer_unreadable'],
    ['unreadable 400', 400, '<html></html>', 'processor_answer_unreadable'],
    ['unreadable 402', 402, '', 'processor_answer_unreadable'],
    ['422 for a known key', 422, refusal('idempotency_key_mismatch'), 'processor_answer_mismatch'],
  ])('%s leaves the outcome unknown, and the charge is not resent', async (_what, status, body, code) => {
    answers(status, body);
    await expect(client.charge(order, LIMIT)).rejects.toMatchObject({ name: 'AmbiguousError', code });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['amount', { amount: 1_998 }],
    ['currency', { currency: 'USD' }],
    ['capture', { capture: 'manual' }],
    ['payment', { metadata: { payment: 'pay_other', operation: 'pay_other' } }],
    ['status', { status: 'declined', failure: { code: 'card_declined', message: 'no' } }],
  ])('a 201 whose %s does not fit the request is a mismatch', async (_field, changes) => {
    answers(201, JSON.stringify({ ...chargeFor(order), ...changes }));
    await expect(client.charge(order, LIMIT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_answer_mismatch',
    });
  });

  test('a redirect is not followed', async () => {
    await using elsewhere = await serveRaw((socket) => socket.end(httpAnswer(201, JSON.stringify(chargeFor(order)))));
    answers(307, '', { location: `${elsewhere.url}/charges` });
    await expect(client.charge(order, LIMIT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_answer_unexpected',
    });
    expect(elsewhere.requests).toEqual([]);
  });

  const whole = () => httpAnswer(201, JSON.stringify(chargeFor(order)));
  test.each<[string, (socket: Socket) => void]>([
    ['a truncated body', (socket) => socket.end(whole().slice(0, -20))],
    ['truncated headers', (socket) => socket.end('HTTP/1.1 201 Created\r\ncontent-le')],
    ['a connection closed without a response', (socket) => socket.end()],
    ['a reset instead of a response', (socket) => socket.resetAndDestroy()],
    ['a response that is not HTTP', (socket) => socket.end('hello\r\n\r\n')],
    [
      'a chunked body that ends early',
      (socket) => {
        socket.end('HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n400\r\n{"id":');
      },
    ],
  ])('%s leaves the outcome unknown, and the charge is sent once', async (_what, answer) => {
    script = answer;
    await expect(client.charge(order, LIMIT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_connection_lost',
    });
    expect(server.requests).toHaveLength(1);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['no answer', () => {}],
    ['headers without a body', (socket) => socket.write(whole().slice(0, -20))],
    ['half of the headers', (socket) => socket.write('HTTP/1.1 201 Created\r\n')],
  ])('%s within the time limit leaves the outcome unknown', async (_what, answer) => {
    script = answer;
    await expect(client.charge(order, { timeoutMs: 50.5 })).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_timeout',
    });
  });

  test('an oversized response is abandoned, and leaves the outcome unknown', async () => {
    script = (socket) => {
      socket.write('HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n');
      const chunk = `8000\r\n${' '.repeat(0x8000)}\r\n`;
      const pour = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', pour);
      pour();
    };
    await expect(client.charge(order, LIMIT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_answer_too_large',
    });
  });

  test('a refused connection is retryable, because nothing was applied', async () => {
    const closed = createServer();
    const url = await listenOnLoopback(closed);
    await stopListening(closed);
    const unreachable = createSandboxClient({ url, clock: CLOCK });
    await expect(unreachable.charge(order, LIMIT)).rejects.toMatchObject({
      name: 'RetryableError',
      code: 'processor_unreachable',
    });
  });

  test('an unresolvable host name is retryable, because nothing was applied', async () => {
    // RFC 6761: names under .invalid never resolve.
    const unreachable = createSandboxClient({ url: 'http://processor.invalid', clock: CLOCK });
    await expect(unreachable.charge(order, LIMIT)).rejects.toMatchObject({
      name: 'RetryableError',
      code: 'processor_unreachable',
    });
  });

  test.each([
    ['an empty list', { data: [], next: null }, { kind: 'absent' }],
    [
      'a charge that was authorized and later voided',
      { capture: 'manual', status: 'voided' },
      { kind: 'authorized', chargeId: 'ch_1' },
    ],
    [
      'a charge that was authorized and later captured',
      { capture: 'manual' },
      { kind: 'authorized', chargeId: 'ch_1' },
    ],
  ])(
    'a look-up returns the outcome of the charge request, regardless of later changes: %s',
    async (_what, found, outcome) => {
      const manual = { ...order, capture: 'manual' as const };
      answers(
        200,
        JSON.stringify('data' in found ? found : { data: [{ ...chargeFor(manual), ...found }], next: null }),
      );
      expect(await client.findCharge(manual, LIMIT)).toEqual(outcome);
    },
  );

  test.each([
    ['two charges with one key', 200, () => ({ data: [chargeFor(order), chargeFor(order)], next: null })],
    ['another amount', 200, () => ({ data: [{ ...chargeFor(order), amount: 1 }], next: null })],
    ['an unreadable list', 200, () => ({})],
    ['404', 404, () => ({ error: { code: 'not_found', message: 'no' } })],
    ['500', 500, () => ({})],
  ])('%s in a look-up leaves the outcome unknown', async (_what, status, body) => {
    answers(status, JSON.stringify(body()));
    await expect(client.findCharge(order, LIMIT)).rejects.toMatchObject({ name: 'AmbiguousError' });
  });
});
