import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { MAX_REFUNDS } from '../../lambdas/payments/domain/change.ts';
import type { ChangeOrder, ChargeChange, Processor } from '../../lambdas/payments/use/processor.ts';
import { sandboxContract } from '../../lambdas/processors/sandbox/contract.ts';
import { createSandboxBooks } from '../../lambdas/processors/sandbox/sandbox-books.ts';
import { createSandboxClient } from '../../lambdas/processors/sandbox/sandbox-client.ts';
import { returnOperation } from '../../lambdas/resolving/ids.ts';
import { chargeFor, freshChange, freshOrder } from '../orders/sandbox-orders.ts';
import { callSandbox } from '../sandbox/sandbox-calls.ts';
import { chargeIn, sandboxHarness } from '../sandbox/sandbox-harness.ts';
import { httpAnswer, type RawServer, serveRaw } from '../sandbox/sandbox-raw-server.ts';
import { serveSandbox } from '../sandbox/sandbox-server.ts';
import { createTestSandbox, SANDBOX_START_MS } from '../sandbox/sandbox-world.ts';
import { inTurn } from '../support/slice.ts';
import { describeChanges } from './processor-changes-suite.ts';

const CLOCK = { nowMs: () => SANDBOX_START_MS };
const LIMIT = { timeoutMs: 600_000 };

describeChanges('sandbox client’s changes over HTTP', sandboxContract.abilities, async () => {
  const sandbox = createTestSandbox();
  const server = await serveSandbox(sandbox.handler);
  return {
    processor: createSandboxClient({ url: server.url, clock: CLOCK }),
    stateOf: async (chargeId) => {
      const answer = await callSandbox(sandbox.handler, { method: 'GET', path: `/charges/${chargeId}` });
      const { status, amount_captured: captured, refunds } = chargeIn(answer);
      return { status, captured, refunds: refunds.map(({ amount }) => amount) };
    },
    failNextChange: async (count, source) => {
      const body = JSON.stringify({ count, source });
      await callSandbox(sandbox.handler, { method: 'PUT', path: '/control/change-failures', body });
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
});

describe('the sandbox client', () => {
  test('identifies Payonce’s refunds by operation in the books, and other refunds by the processor’s id', async () => {
    const sandbox = createTestSandbox();
    await using server = await serveSandbox(sandbox.handler);
    const client = createSandboxClient({ url: server.url, clock: CLOCK });
    const order = freshOrder();
    const { chargeId = '' } = await client.charge(order, LIMIT);
    const ours = freshChange(order, chargeId, { kind: 'refund', amountMinor: 100 });
    const sentBack = {
      ...ours,
      operationId: returnOperation(systemDigest, order.paymentId, chargeId, { attempt: 1, amountMinor: 100 }),
    };
    await client.change(ours, LIMIT);
    await client.change(sentBack, LIMIT);
    const harness = sandboxHarness(sandbox.handler);
    await harness.post(`/charges/${chargeId}/refunds`, { amount: 200 });
    await harness.post(`/charges/${chargeId}/refunds`, { amount: 300, metadata: { operation: 'other_program' } });
    const charge = await createSandboxBooks({ url: server.url, clock: CLOCK }).readCharge(chargeId, LIMIT);
    expect(charge?.refunds.map(({ refundId }) => refundId)).toEqual([
      ours.operationId,
      sentBack.operationId,
      expect.stringMatching(/^re_/),
      expect.stringMatching(/^re_/),
    ]);
    expect((await harness.read(chargeId)).refunds[0]?.metadata).toEqual({
      payment: order.paymentId,
      operation: ours.operationId,
    });
  });

  // This test makes hundreds of refunds.
  const title = 'finds a refund even if its charge has more refunds than a payment can have';
  inTurn(test, { place: 3, of: 4, otherwise: test.skip })(title, async () => {
    const sandbox = createTestSandbox();
    await using server = await serveSandbox(sandbox.handler);
    const client = createSandboxClient({ url: server.url, clock: CLOCK });
    const order = freshOrder();
    const { chargeId = '' } = await client.charge(order, LIMIT);
    const harness = sandboxHarness(sandbox.handler);
    for (let refund = 0; refund < MAX_REFUNDS; refund += 1) {
      await harness.post(`/charges/${chargeId}/refunds`, { amount: 1 });
    }
    const last = freshChange(order, chargeId, { kind: 'refund', amountMinor: 1 });
    const applied = await client.change(last, LIMIT);
    expect(applied).toMatchObject({ kind: 'applied' });
    expect(await client.findChange(last, LIMIT)).toEqual(applied);
  });

  test('reports the fee of a capture', async () => {
    await using server = await serveSandbox(createTestSandbox().handler);
    const client = createSandboxClient({ url: server.url, clock: CLOCK });
    const order = freshOrder({ source: 'tok_fee', capture: 'manual' });
    const { chargeId = '' } = await client.charge(order, LIMIT);
    const capture = freshChange(order, chargeId, { kind: 'capture', amountMinor: 1_000 });
    // The fee is 2.9 % of 10.00, plus 0.30.
    const applied = { kind: 'applied', facts: [{ kind: 'succeeded', chargeId, capturedMinor: 1_000, feeMinor: 59 }] };
    expect(await client.change(capture, LIMIT)).toEqual(applied);
    expect(await client.findChange(capture, LIMIT)).toEqual(applied);
  });

  test.each([
    ['manual', 'tok_ok', 'expired'],
    ['automatic', 'tok_action', 'abandoned'],
  ] as const)(
    'cannot void an expired charge (%s capture, %s); the look-up of the void returns the reason %s',
    async (capture, source, reason) => {
      const sandbox = createTestSandbox();
      await using server = await serveSandbox(sandbox.handler);
      const client = createSandboxClient({ url: server.url, clock: CLOCK });
      const order = freshOrder({ capture, source });
      const { chargeId = '' } = await client.charge(order, LIMIT);
      await sandboxHarness(sandbox.handler).post(`/control/charges/${chargeId}/expire`);
      const letGo = freshChange(order, chargeId, { kind: 'void' });
      expect(await client.change(letGo, LIMIT)).toMatchObject({ kind: 'refused' });
      expect(await client.findChange(letGo, LIMIT)).toEqual({
        kind: 'applied',
        facts: [{ kind: 'voided', chargeId, reason }],
      });
    },
  );
});

describe('for the changes of the sandbox client,', () => {
  let server: RawServer;
  let script: (socket: Socket) => void;
  let client: Processor;

  beforeEach(async () => {
    server = await serveRaw((socket) => script(socket));
    client = createSandboxClient({ url: server.url, clock: CLOCK });
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  const order = freshOrder({ capture: 'manual' });
  const changeTo = (change: ChargeChange) => freshChange(order, 'ch_1', change);
  const capture = changeTo({ kind: 'capture', amountMinor: 500 });
  const letGo = changeTo({ kind: 'void' });
  const refund = changeTo({ kind: 'refund', amountMinor: 500 });
  const answers = (status: number, body: unknown) => {
    script = (socket) => {
      socket.end(httpAnswer(status, typeof body === 'string' ? body : JSON.stringify(body)));
    };
  };
  const refusal = (code: string) => ({ error: { code, message: 'no' } });
  const refundFor = (changes: object = {}) => ({
    id: 're_1',
    object: 'refund',
    charge: 'ch_1',
    amount: 500,
    status: 'succeeded',
    metadata: { payment: order.paymentId, operation: refund.operationId },
    ...changes,
  });
  const chargeWith = (changes: object = {}) => ({
    ...chargeFor(order),
    status: 'authorized',
    amount_captured: 0,
    ...changes,
  });
  const captured = { status: 'succeeded', amount_captured: 500 };
  const change = (asked: ChangeOrder) => client.change(asked, LIMIT);
  const find = (asked: ChangeOrder) => client.findChange(asked, LIMIT);

  test.each([
    ['capture', capture, 200, chargeWith(captured), { amount: 500 }],
    ['void', letGo, 200, chargeWith({ status: 'voided', void_reason: 'requested' }), {}],
    [
      'refunds',
      refund,
      201,
      refundFor(),
      { amount: 500, metadata: { payment: order.paymentId, operation: refund.operationId } },
    ],
  ])(
    "the change is posted to the charge's path %s, with the operation id as the key",
    async (path, asked, status, answer, body) => {
      answers(status, answer);
      expect((await change(asked)).kind).toBe('applied');
      const [request = '', ...more] = server.requests;
      expect(more).toEqual([]);
      expect(request).toContain(`POST /charges/ch_1/${path} HTTP/1.1`);
      expect(request).toContain(`idempotency-key: ${asked.operationId}\r\n`);
      expect(JSON.parse(request.slice(request.indexOf('\r\n\r\n')))).toEqual(body);
    },
  );

  test('a charge id is encoded as one path segment', async () => {
    answers(400, refusal('bad_thing'));
    await change({ ...letGo, chargeId: '../control' });
    expect(server.requests[0]).toContain('POST /charges/..%2Fcontrol/void HTTP/1.1');
  });

  test.each([400, 402, 422])('a %d response with a readable error is a refusal with its reason', async (status) => {
    answers(status, refusal('bad_thing'));
    expect(await change(refund)).toEqual({ kind: 'refused', failure: { code: 'bad_thing', message: 'no' } });
  });

  test.each([
    [401, 'no_entry', 'processor_unauthorized'],
    [403, 'no_entry', 'processor_unauthorized'],
    [429, 'slow_down', 'processor_rate_limited'],
    [404, 'not_found', 'processor_charge_unknown'],
    [409, 'busy', 'processor_busy'],
  ])('%d %s is retryable, because nothing was applied', async (status, code, expected) => {
    answers(status, refusal(code));
    await expect(change(refund)).rejects.toMatchObject({ name: 'RetryableError', code: expected });
  });

  test.each([
    ['500', 500, refusal('internal'), 'processor_error'],
    ['503 with an HTML page', 503, '<html></html>', 'processor_error'],
    ['409 for another reason', 409, refusal('locked'), 'processor_conflict'],
    ['unreadable 409', 409, '', 'processor_answer_unreadable'],
    ['408', 408, refusal('late'), 'processor_answer_unexpected'],
    ['200 for a refund', 200, refundFor(), 'processor_answer_unexpected'],
    ['201 with an error inside', 201, refusal('declined'), 'processor_answer_unreadable'],
    ['201 with broken JSON', 201, '{"id":"re_1"', 'processor_answer_unreadable'],
    ['unreadable 400', 400, '', 'processor_answer_unreadable'],
    ['unreadable 404', 404, '', 'processor_answer_unreadable'],
    ['422 for a known key', 422, refusal('idempotency_key_mismatch'), 'processor_answer_mismatch'],
    ['201 with another amount', 201, refundFor({ amount: 499 }), 'processor_answer_mismatch'],
    ['201 for another charge', 201, refundFor({ charge: 'ch_2' }), 'processor_answer_mismatch'],
    ['201 for another operation', 201, refundFor({ metadata: {} }), 'processor_answer_mismatch'],
  ])('%s leaves the outcome unknown, and the change is not resent', async (_what, status, body, code) => {
    answers(status, body);
    await expect(change(refund)).rejects.toMatchObject({ name: 'AmbiguousError', code });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['a capture of a different amount', capture, { ...captured, amount_captured: 499 }],
    ['a capture of amount zero', capture, {}],
    ['a capture of a different charge', capture, { ...captured, id: 'ch_2' }],
    ['a capture in a different currency', capture, { ...captured, currency: 'USD' }],
    ['a void whose charge is not voided', letGo, {}],
  ])('%s is a mismatch', async (_what, asked, changes) => {
    answers(200, chargeWith(changes));
    await expect(change(asked)).rejects.toMatchObject({ name: 'AmbiguousError', code: 'processor_answer_mismatch' });
  });

  test('a missing response leaves the outcome unknown after the time limit', async () => {
    script = () => {};
    await expect(client.change(refund, { timeoutMs: 50 })).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_timeout',
    });
  });

  test('the look-up reads the charge, and also finds a change that another user of the account made', async () => {
    answers(200, chargeWith({ ...captured, amount_captured: 450 }));
    expect(await find(capture)).toEqual({
      kind: 'applied',
      facts: [{ kind: 'succeeded', chargeId: 'ch_1', capturedMinor: 450 }],
    });
    expect(await find(letGo)).toEqual({ kind: 'absent' });
    expect(server.requests[0]).toContain('GET /charges/ch_1 HTTP/1.1');
    answers(200, chargeWith({ status: 'voided', void_reason: 'expired' }));
    expect(await find(letGo)).toMatchObject({ facts: [{ kind: 'voided', reason: 'expired' }] });
    expect(await find(capture)).toEqual({ kind: 'absent' });
  });

  test('the look-up returns the current state of the refund, and ignores other refunds', async () => {
    const other = refundFor({ id: 're_0', metadata: {} });
    answers(200, chargeWith({ ...captured, refunds: [other, refundFor({ status: 'failed' })] }));
    expect(await find(refund)).toEqual({
      kind: 'applied',
      facts: [{ kind: 'refund', refundId: refund.operationId, chargeId: 'ch_1', amountMinor: 500, status: 'failed' }],
    });
  });

  test.each([
    ['404', 404, refusal('not_found'), 'processor_answer_unexpected'],
    ['500', 500, refusal('internal'), 'processor_error'],
    ['an unreadable charge', 200, {}, 'processor_answer_unreadable'],
    ['another charge', 200, chargeWith({ id: 'ch_2' }), 'processor_answer_mismatch'],
    [
      'two refunds with one key',
      200,
      chargeWith({ ...captured, refunds: [refundFor(), refundFor()] }),
      'processor_answer_mismatch',
    ],
    [
      'a different amount under the operation’s key',
      200,
      chargeWith({ ...captured, refunds: [refundFor({ amount: 1 })] }),
      'processor_answer_mismatch',
    ],
  ])('%s in a look-up leaves the outcome unknown', async (_what, status, body, code) => {
    answers(status, body);
    await expect(find(refund)).rejects.toMatchObject({ name: 'AmbiguousError', code });
  });
});
