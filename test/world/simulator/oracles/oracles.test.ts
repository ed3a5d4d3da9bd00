/** Tests of the oracles. Most tests change a `World` so that its state violates an oracle. */
import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { LedgerRow, RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { RetryableError } from '../../../../lambdas/kernel/faults.ts';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { nextTransition } from '../../../../lambdas/payments/domain/transition.ts';
import type { CreatePayment } from '../../../../lambdas/payments/use/create-payment.ts';
import type { ChangeOrder } from '../../../../lambdas/payments/use/processor.ts';
import { returnOperation } from '../../../../lambdas/resolving/ids.ts';
import { callback, change, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { BY_REQUEST } from '../../../support/causes.ts';
import { ALL_DUE } from '../../../support/due.ts';
import type { Item } from '../../dynamodb-values.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';
import { appendTo, type Draft, refundOf } from './written.ts';

const MINUTE_MS = 60_000;
const LIMIT = { timeoutMs: 8_000 };
const OPEN = { status: 'INPROGRESS', leaseExpiresAtMs: 0, released: false, openShard: 0, dueAtMs: 0 };

let harness: World;
let world: ReturnType<typeof watched>;
let events: number;
beforeEach(() => {
  harness = new World();
  world = watched(harness);
  events = 0;
});

async function paid(key: string, source = 'tok_ok', capture: CreatePayment['capture'] = 'automatic') {
  const request = paymentRequest(key, { source, capture });
  await harness.pay(request);
  return { request, charge: harness.chargeOf(request) };
}

async function sendCallback(charge: string): Promise<void> {
  events += 1;
  await harness.deliver(callback(`oracle_${events}`, charge));
}

async function stray(key: string) {
  const request = paymentRequest(key, { source: 'tok_async' });
  await harness.pay(request);
  const charge = harness.chargeOf(request);
  await harness.processor.inside.decline(charge);
  await sendCallback(charge);
  await harness.processor.inside.approve(charge);
  await sendCallback(charge);
  return { request, charge };
}

const append = (request: CreatePayment, draft: Draft) => appendTo(harness, request, draft);

async function callNotAttempted(request: CreatePayment): Promise<void> {
  harness.clock.advance(MINUTE_MS);
  const { payment } = (await harness.chain(request)).newest;
  const failure = { code: 'not_attempted', message: 'Nothing was sent to the processor.' };
  await append(request, { type: 'payment.failed', payment: { ...payment, status: 'failed', failure } });
}

const put = (table: string, item: Item) =>
  harness.store.database.client.send(new PutCommand({ TableName: table, Item: item }));

async function removeAll(prefix: string): Promise<void> {
  for (const { pk, sk } of harness.store.database.items(TABLES.registry, prefix)) {
    await harness.store.database.client.send(new DeleteCommand({ TableName: TABLES.registry, Key: { pk, sk } }));
  }
}

test('a healthy system violates no oracle', async () => {
  await harness.change(change((await paid('healthy')).request, 'part', { kind: 'refund', amountMinor: 300 }));
  const late = (await stray('late')).request;
  await harness.returnCharges();
  const { charge } = await paid('disputed');
  const dispute = await harness.processor.inside.dispute(charge, 400);
  await sendCallback(charge);
  expect(world.now()).toEqual([]);
  await harness.processor.inside.closeDispute(dispute, 'won');
  await sendCallback(charge);
  const alarm = { metric: 'late_success', about: late.paymentId, count: 1, dimensions: {} };
  world.alarms.push({ ...alarm, atMs: harness.clock.nowMs() });
  expect(harness.refundedAtProcessor(late)).toBe(1000);
  expect(world.atTheEnd()).toEqual([]);
});

describe('the chain of a payment', () => {
  test('must not contain a transition out of a final state', async () => {
    const { request } = await paid('back', 'tok_declined');
    const { payment } = (await harness.chain(request)).newest;
    await append(request, { payment: { ...payment, status: 'processing' } });
    expect(world.now()).toContain('I6 states');
  });

  test('must not contain postings for events that did not happen', async () => {
    const { request } = await paid('posted');
    const leg = { amountMinor: 5, currency: 'EUR' } as const;
    await append(request, {
      postings: [
        { account: 'processor_clearing', direction: 'debit', ...leg },
        { account: 'merchant_payable', direction: 'credit', ...leg },
      ],
    });
    expect(world.now()).toEqual(['I2 one set of postings']);
  });

  test('must not reserve more for refunds than was captured', async () => {
    const { request, charge } = await paid('reserved');
    for (const letter of ['a', 'b']) {
      const refundId = `ref_${letter.repeat(58)}`;
      await append(request, { type: 'refund.pending', subject: refundOf(refundId, charge) });
    }
    expect(world.now()).toContain('F31 refunds are reserved');
    // The violation stays, even if one of the refunds fails later.
    const failed = refundOf(`ref_${'a'.repeat(58)}`, charge, { status: 'failed' });
    await append(request, { type: 'refund.failed', subject: failed });
    expect(world.now()).toContain('F31 refunds are reserved');
  });

  test('may record the late success of a failed refund, but must not reserve a further refund above the captured amount', async () => {
    const { request, charge } = await paid('revived');
    const [early, late] = ['a', 'b'].map((letter) => `ref_${letter.repeat(58)}`) as [string, string];
    await append(request, { type: 'refund.pending', subject: refundOf(early, charge) });
    await append(request, { type: 'refund.failed', subject: refundOf(early, charge, { status: 'failed' }) });
    await append(request, { type: 'refund.pending', subject: refundOf(late, charge) });
    await append(request, { type: 'refund.completed', subject: refundOf(early, charge, { status: 'succeeded' }) });
    expect(world.now()).not.toContain('F31 refunds are reserved');
    await append(request, { type: 'refund.pending', subject: refundOf(`ref_${'c'.repeat(58)}`, charge) });
    expect(world.now()).toContain('F31 refunds are reserved');
  });

  test('must not have a pending capture and a pending cancellation of one hold at the same time', async () => {
    const { request } = await paid('held', 'tok_ok', 'manual');
    for (const kind of ['capture', 'void'] as const) {
      const subject = { kind, operationId: `op_${kind}`, amountMinor: 1000, status: 'pending' } as const;
      await append(request, { type: `${kind}.pending`, subject });
    }
    expect(world.now()).toContain('F31 one change of a hold');
  });

  test('must not contain a row that was changed after it was written', async () => {
    const { request } = await paid('changed');
    const [row] = harness.store.database.items(TABLES.ledger, `${LedgerRow.payment}${request.paymentId}`);
    await put(TABLES.ledger, { ...row, occurredAtMs: 1 });
    expect(world.now()).toContain('I8 append only');
  });

  test('must not have a broken link', async () => {
    const { request } = await paid('linked');
    const chain = await harness.chain(request);
    const occasion = { occurredAtMs: 0, cause: BY_REQUEST };
    const draft = { type: 'payment.fee_reported' as const, payment: chain.newest.payment, postings: [] };
    const next = nextTransition(systemDigest, chain, draft, occasion);
    await harness.store.write([{ ...next, occurredAtMs: 7 }]);
    expect(world.now()).toEqual(['I8 hash chain']);
  });

  test('must not have a row that cannot be parsed', async () => {
    const { request } = await paid('unreadable');
    const [row] = harness.store.database.items(TABLES.ledger, `${LedgerRow.payment}${request.paymentId}`);
    await put(TABLES.ledger, { ...row, sk: 'T#000009', sequence: 0 }).catch(() => undefined);
    expect(world.now()).toEqual(['every row is readable']);
  });

  test('must not share its reference with the chain of a second payment', async () => {
    for (const key of ['one', 'two']) {
      const request = paymentRequest(key, { reference: `order_${key}` });
      await harness.pay(request);
      const { payment } = (await harness.chain(request)).newest;
      await append(request, { payment: { ...payment, reference: 'order' } });
    }
    expect(world.now()).toContain('one payment of a reference');
  });
});

describe('a processor', () => {
  const refund = (request: CreatePayment, chargeId: string, amountMinor: number): ChangeOrder => ({
    operationId: returnOperation(systemDigest, request.paymentId, chargeId, { attempt: 1, amountMinor }),
    paymentId: request.paymentId,
    chargeId,
    currency: 'EUR',
    change: { kind: 'refund', amountMinor },
  });

  test('must not receive a refund of money that is disputed according to the chain', async () => {
    const { request, charge } = await paid('gone');
    await harness.processor.inside.dispute(charge, 800);
    await sendCallback(charge);
    harness.clock.advance(5 * MINUTE_MS);
    await harness.processor.change(refund(request, charge, 300), LIMIT);
    expect(world.now()).toContain('money is rechecked before each send');
  });

  test('must not receive a refund unless Payonce has just read the current books of the charge', async () => {
    const { request, charge } = await paid('unread');
    await harness.processor.inside.dispute(charge, 800);
    harness.clock.advance(5 * MINUTE_MS);
    await harness.processor.change(refund(request, charge, 300), LIMIT);
    expect(world.now()).toContain('the books are read before each send');
  });

  test('must not receive a capture unless Payonce has just read the current books of the charge', async () => {
    const request = paymentRequest('taken', { capture: 'manual' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.capture(charge);
    harness.clock.advance(5 * MINUTE_MS);
    const capture = { ...refund(request, charge, 1000), change: { kind: 'capture', amountMinor: 1000 } } as const;
    await harness.processor.change(capture, LIMIT);
    expect(world.now()).toContain('the books are read before each send');
  });

  test('must not receive a charge after the send window', async () => {
    const request = paymentRequest('window', { source: 'tok_timeout_not_charged' });
    await harness.pay(request);
    harness.clock.advance(60 * MINUTE_MS);
    const { amountMinor, currency, source, capture, paymentId } = request;
    const operationId = storedOperationId(paymentId);
    await harness.processor.charge({ operationId, paymentId, amountMinor, currency, source, capture }, LIMIT);
    expect(world.now()).toContain('F05 send window');
  });

  test('must have the posted amounts in its books after Payonce has read the books', async () => {
    const { request, charge } = await paid('held');
    await harness.processor.inside.refund(charge, 100);
    expect(world.atTheEnd()).toEqual([]);
    await harness.processor.readCharge(charge, LIMIT);
    expect(world.atTheEnd()).toEqual(['I9 processor and books']);
    await sendCallback(charge);
    expect(harness.refundedAtProcessor(request)).toBe(100);
    expect(world.atTheEnd()).toEqual([]);
  });

  test('must have the charge of a succeeded payment', async () => {
    await paid('missing');
    const inside = Object.create(harness.processor.inside, { all: { value: [] } }) as typeof harness.processor.inside;
    Object.assign(world.world.processors, { sandbox: { ...harness.processor, inside } });
    expect(world.atTheEnd()).toEqual(['I9 processor and books']);
  });

  test('may reverse an outcome that it has reported, if an alarm about the payment was raised', async () => {
    const { request, charge } = await paid('contradicted');
    await harness.processor.inside.correct(charge, { status: 'declined', amount_captured: 0 });
    await sendCallback(charge);
    expect(world.atTheEnd()).toEqual(['I9 processor and books']);
    const alarm = { metric: 'contradiction', atMs: harness.clock.nowMs(), count: 1, dimensions: {} };
    world.alarms.push({ ...alarm, about: 'pay_another' });
    expect(world.atTheEnd()).toEqual(['I9 processor and books']);
    world.alarms.push({ ...alarm, about: request.paymentId });
    expect(world.atTheEnd()).toEqual([]);
  });

  test('may show a hold that an operator declared captured, if an alarm was raised afterwards', async () => {
    const { request, charge } = await paid('decided', 'tok_ok', 'manual');
    await harness.clock.sleep(MINUTE_MS);
    const { payment } = (await harness.chain(request)).newest;
    const leg = { amountMinor: 1000, currency: 'EUR' } as const;
    await append(request, {
      type: 'payment.completed',
      payment: { ...payment, chargeId: charge, status: 'succeeded', amountCapturedMinor: 1000 },
      postings: [
        { account: 'processor_clearing', direction: 'debit', ...leg },
        { account: 'merchant_payable', direction: 'credit', ...leg },
      ],
      subject: { kind: 'decision', decisionId: 'dec_a', reason: 'Shown on the receipt', operator: 'Ada Example' },
    });
    const alarm = { metric: 'contradiction', about: request.paymentId, count: 1, dimensions: {} };
    world.alarms.push({ ...alarm, atMs: harness.clock.nowMs() - 1 });
    expect(world.atTheEnd()).toContain('I9 processor and books');
    world.alarms.push({ ...alarm, atMs: harness.clock.nowMs() });
    expect(world.atTheEnd()).not.toContain('I9 processor and books');
  });

  test('must not have a charge for a payment that is recorded as not attempted', async () => {
    const { request, charge } = await paid('attempted', 'tok_async');
    expect(charge).not.toBe('');
    await callNotAttempted(request);
    expect(world.atTheEnd()).toContain('F05 absence is proven');
  });

  test('must not have a charge whose claim is later released as not sent', async () => {
    const { request } = await paid('released');
    const [row] = harness.store.database.items(TABLES.idempotency, `OP#${request.paymentId}`);
    harness.store.deleteRecord(storedOperationId(request.paymentId));
    harness.clock.advance(MINUTE_MS);
    await put(TABLES.idempotency, { ...row, ...OPEN });
    expect(world.now()).toEqual([]);
    await put(TABLES.idempotency, { ...row, ...OPEN, released: true });
    expect(world.now()).toEqual(['F05 absence is proven']);
  });

  test.each([
    ['refused by a different processor', () => new World().processor],
    ['refused by its own processor', () => harness.processor],
  ])(
    'may have a charge that another program made in the same account, even if the charge names a payment that was %s',
    async (_what, processorOf) => {
      const request = paymentRequest('elsewhere', { source: 'tok_rate_limited' });
      const asked = processorOf();
      Object.assign(world.world.processors, { asked });
      await harness.pay(request, { processor: asked }).catch(() => undefined);
      expect(asked.inside.sent).not.toEqual([]);
      const { paymentId } = request;
      await harness.processor.inside.charge({ paymentId, operationId: paymentId, amountMinor: 500 });
      await callNotAttempted(request);
      expect(world.atTheEnd()).not.toContain('F05 absence is proven');
    },
  );

  test('may have a charge that another program made in the same account, even if the charge names a payment that was not attempted', async () => {
    const request = paymentRequest('named', { source: 'tok_ok' });
    const unreachable = new RetryableError('processor_unreachable', 'The processor cannot be reached.');
    const away = { ...harness.processor, charge: () => Promise.reject(unreachable) };
    await harness.pay(request, { processor: away }).catch(() => undefined);
    const { paymentId } = request;
    await harness.processor.inside.charge({ paymentId, operationId: paymentId, amountMinor: 500 });
    await callNotAttempted(request);
    expect(world.atTheEnd()).not.toContain('F05 absence is proven');
  });
});

describe('unfinished work', () => {
  const ORACLE = 'unfinished work is queued';

  test.each([
    ['a payment without an outcome', RegistryRow.inquiry, () => paid('unknown', 'tok_async')],
    ['a hold', RegistryRow.hold, () => paid('hold', 'tok_ok', 'manual')],
    ['a stray charge', RegistryRow.return, () => stray('stray')],
    [
      'a pending refund that was created at the processor',
      RegistryRow.inquiry,
      async () => {
        const { charge } = await paid('foreign');
        await harness.processor.inside.refund(charge, 100, 'pending');
        await sendCallback(charge);
      },
    ],
    [
      'an open dispute',
      RegistryRow.inquiry,
      async () => {
        const { charge } = await paid('dispute');
        await harness.processor.inside.dispute(charge, 100);
        await sendCallback(charge);
      },
    ],
  ])('must be in a queue: %s', async (_what, queue, make) => {
    await make();
    expect(world.now()).toEqual([]);
    await removeAll(queue);
    expect(world.now()).toEqual([ORACLE]);
  });

  test('must be finished once the system is quiet', async () => {
    const { request } = await paid('left', 'tok_ok', 'manual');
    await stray('kept');
    world.queues['webhooks'] = 1;
    world.queues['webhooks-dead'] = 1;
    world.queues['relay-parked'] = 1;
    const left = world.all().filter(({ oracle }) => oracle === 'nothing is left once quiet');
    expect(left.map(({ what }) => what)).toEqual([
      'the hold was not voided',
      expect.stringContaining('1000 of the stray charge'),
      '1 messages are in webhooks',
      '1 messages are in webhooks-dead',
    ]);
    expect(left[0]?.about).toBe(request.paymentId);
  });

  test('is allowed for a late charge whose refund waits for an operator', async () => {
    const { request, charge } = await stray('refused');
    const left = () => world.all().filter(({ oracle }) => oracle === 'nothing is left once quiet');
    world.alarms.push({ metric: 'undecidable', about: request.paymentId, atMs: 0, count: 1, dimensions: {} });
    expect(left()).toMatchObject([{ what: expect.stringContaining(charge) }]);
    for (const owed of await harness.store.chargesToReturn(ALL_DUE))
      await harness.store.postponeReturn(owed, { dueAtMs: 0, undecidable: true });
    expect(left()).toEqual([]);
  });

  test.each([
    ['a decision', true, 'contradiction', 700, []],
    ['no decision', false, 'contradiction', 700, ['is reserved']],
    ['a different alarm', true, 'undecidable', 700, ['is reserved']],
    ['enough captured money', true, 'contradiction', 300, ['is reserved']],
  ] as const)(
    'may include a pending refund that succeeded at the processor only if it exceeds the captured amount, an operator has decided, and a contradiction alarm was raised: %s',
    async (_what, isDecided, metric, refundedMinor, due) => {
      const { request, charge } = await paid('beyond');
      const foreign = await harness.processor.inside.refund(charge, 700, 'succeeded');
      const decision = {
        kind: 'decision',
        decisionId: 'dec_a',
        reason: 'Shown on the statement',
        operator: 'Ada',
      } as const;
      const own = refundOf(`ref_${'a'.repeat(58)}`, charge, {
        amountMinor: refundedMinor,
        status: 'succeeded',
        ...(isDecided ? { decision } : {}),
      });
      await append(request, { type: 'refund.completed', subject: own });
      await append(request, { type: 'refund.pending', subject: refundOf(foreign, charge) });
      world.alarms.push({ metric, about: request.paymentId, atMs: harness.clock.nowMs(), count: 1, dimensions: {} });
      const left = world.all().filter(({ oracle }) => oracle === 'nothing is left once quiet');
      expect(left.map(({ what }) => what)).toEqual(due.map((what) => expect.stringContaining(what)));
    },
  );

  test('must not include more than a hundred messages at the same time in a job queue', () => {
    world.crowds['upkeep-jobs'] = 100;
    expect(world.now()).toEqual([]);
    world.crowds['upkeep-jobs'] = 101;
    expect(world.now()).toEqual(['the messages of a run end']);
  });

  test('must not include a claim without a response once the system is quiet', async () => {
    await harness.claimThenDie(paymentRequest('dead'), false);
    expect(world.now()).toEqual([]);
    expect(world.atTheEnd()).toContain('nothing is left once quiet');
  });

  test('must not include a claim that waits too long after the end of the faults', async () => {
    const I7 = 'I7 every claim is answered in time';
    const request = paymentRequest('late');
    await harness.claimThenDie(request, false);
    harness.clock.advance(40 * MINUTE_MS);
    expect(world.atTheEnd()).toContain(I7);
    await harness.pay(request);
    expect(world.atTheEnd()).not.toContain(I7);
    const late = paymentRequest('later');
    await harness.claimThenDie(late, false);
    harness.clock.advance(50 * MINUTE_MS);
    await harness.pay(late);
    expect(world.atTheEnd()).toContain(I7);
  });

  test('must not include a claim delayed for hours by an outage of a different processor', async () => {
    const I7 = 'I7 every claim is answered in time';
    const fromMs = harness.clock.nowMs();
    Object.assign(world.world, { faultsEndedAtMs: fromMs + 9 * 60 * MINUTE_MS });
    world.troubles.push({ of: 'second', fromMs });
    const request = paymentRequest('held-up');
    await harness.claimThenDie(request, false);
    harness.clock.advance(90 * MINUTE_MS);
    await harness.pay(request);
    expect(world.atTheEnd()).toContain(I7);
    world.troubles.push({ of: 'sandbox', fromMs: fromMs + MINUTE_MS });
    expect(world.atTheEnd()).not.toContain(I7);
  });
});

describe('a response', () => {
  const call = (status: number, body: object, changes: object = {}) => ({
    step: 1,
    tenant: 'acme',
    method: 'POST',
    path: '/v1/anything',
    key: 'k',
    body: { amount: 1 },
    sentAtMs: 1,
    answer: { status, headers: {}, body: JSON.stringify(body), atMs: 2 },
    ...changes,
  });

  test('must be the same for all requests with one idempotency key', () => {
    world.calls.push(call(201, { id: 'pay_1', status: 'succeeded' }), call(503, { code: 'unavailable' }));
    expect(world.atTheEnd()).toEqual([]);
    world.calls.push(call(201, { id: 'pay_1', status: 'failed' }));
    expect(world.atTheEnd()).toEqual(['I3 one answer per key']);
  });

  test('must not be replayed to a request with a different body', () => {
    const body = { id: 'pay_1' };
    world.calls.push(call(201, body), call(201, body, { body: { amount: 2 }, sentAtMs: 9 }));
    expect(world.atTheEnd()).toEqual(['F09 other body']);
  });

  test('must not be replayed after its retention', async () => {
    const { request } = await paid('kept');
    const atMs = harness.clock.nowMs();
    const body = { id: request.paymentId };
    world.calls.push(call(201, body), call(201, body, { sentAtMs: atMs + 9 * 24 * 60 * MINUTE_MS }));
    expect(world.atTheEnd()).toEqual(['F15 expired key']);
  });

  test('must not be an unexpected error', () => {
    world.calls.push(call(500, { code: 'internal_error' }));
    expect(world.atTheEnd()).toEqual(['no unexpected errors']);
  });

  test('must not be 503 for a change while the payment’s processor has no fault or outage', async () => {
    const { request } = await paid('well');
    const changes = { path: `/v1/payments/${request.paymentId}/refunds` };
    const refusal = call(503, { code: 'processor_unavailable' }, changes);
    world.calls.push(refusal);
    expect(world.atTheEnd()).toEqual([]);
    world.calls.push({ ...refusal, answer: { ...refusal.answer, well: ['sandbox'] } });
    expect(world.atTheEnd()).toEqual(['F32 a processor that is well is called']);
    const { payment } = (await harness.chain(request)).newest;
    await append(request, { payment: { ...payment, chargeId: 'ch_nowhere' } });
    expect(world.atTheEnd()).not.toContain('F32 a processor that is well is called');
  });

  test('must not be replaced after it was stored', async () => {
    const { request } = await paid('stored');
    const [row] = harness.store.database.items(TABLES.idempotency, `OP#${request.paymentId}`);
    await put(TABLES.idempotency, { ...row, answer: { status: 402, headers: {}, body: '{}' } });
    expect(world.now()).toEqual(['I3 one stored answer']);
  });

  test('must be stored by the owner of the claim', async () => {
    const { request } = await paid('owned');
    const [row] = harness.store.database.items(TABLES.idempotency, `OP#${request.paymentId}`);
    harness.store.deleteRecord(storedOperationId(request.paymentId));
    await put(TABLES.idempotency, { ...row, ...OPEN, owner: 'second' });
    await put(TABLES.idempotency, { ...row, owner: 'first' });
    expect(world.now()).toEqual(['F11 one owner']);
  });

  test('must agree with the chain', async () => {
    const { request } = await paid('said');
    const [row] = harness.store.database.items(TABLES.idempotency, `OP#${request.paymentId}`);
    harness.store.deleteRecord(storedOperationId(request.paymentId));
    await put(TABLES.idempotency, { ...row, answer: { status: 402, headers: {}, body: '{}' } });
    expect(world.atTheEnd()).toContain('I4 answers say what the chain says');
  });

  test.each([
    ['void', 'succeeded', false],
    ['void', 'canceled', true],
    ['capture', 'succeeded', true],
    ['capture', 'canceled', false],
  ] as const)('that says that a %s failed is a violation if the payment is %s: %s', async (kind, status, isWrong) => {
    const I4 = 'I4 answers say what the chain says';
    const { request, charge } = await paid('rivals', 'tok_ok', 'manual');
    const { payment } = (await harness.chain(request)).newest;
    const letters = `${request.paymentId.slice('pay_'.length)}${'a'.repeat(26)}`;
    const operationId = `${kind === 'void' ? 'can' : 'cap'}_${letters}`;
    const subject = { kind, operationId, amountMinor: 1000, status: 'pending' } as const;
    await append(request, { type: `${kind}.pending`, subject });
    const type = status === 'succeeded' ? 'payment.completed' : 'payment.canceled';
    await append(request, { type, payment: { ...payment, chargeId: charge, status } });
    const [row] = harness.store.database.items(TABLES.idempotency, `OP#${request.paymentId}`);
    const answer = { status: 402, headers: {}, body: '{}' };
    await put(TABLES.idempotency, { ...row, pk: `OP#${operationId}`, operationId, answer });
    expect(world.atTheEnd().includes(I4)).toBe(isWrong);
  });
});

test('a late charge must raise exactly one alarm', async () => {
  const dimensions = { service: 'outbox-relay' };
  const { paymentId: about } = (await stray('silent')).request;
  const alarm = { metric: 'late_success', about, atMs: harness.clock.nowMs(), count: 1, dimensions };
  await harness.returnCharges();
  expect(world.atTheEnd()).toEqual(['required alarms are raised']);
  world.alarms.push({ ...alarm, atMs: alarm.atMs + 2 * 24 * 60 * MINUTE_MS });
  expect(world.atTheEnd()).toEqual(['required alarms are raised']);
  world.alarms[0] = alarm;
  expect(world.atTheEnd()).toEqual([]);
  world.alarms.push(alarm);
  expect(world.atTheEnd()).toEqual(['an alarm is raised once for each event']);
});

test('Payonce must read the charge after a callback is delivered', async () => {
  const { charge } = await paid('delivered');
  const posted = { processor: 'sandbox', chargeId: charge };
  const now = () => ({ firstAtMs: harness.clock.nowMs(), takenAtMs: harness.clock.nowMs() });
  world.callbacks.push({ ...posted, ...now() });
  expect(world.atTheEnd()).toEqual([]);
  await harness.clock.sleep(1_000);
  await harness.processor.inside.dispute(charge, 300);
  expect(world.atTheEnd()).toEqual([]);
  world.callbacks.push({ ...posted, firstAtMs: harness.clock.nowMs() });
  expect(world.atTheEnd()).toEqual([]);
  world.callbacks.push({ ...posted, ...now() });
  expect(world.atTheEnd()).toEqual(['F18 delivered callbacks are processed']);
  await sendCallback(charge);
  expect(world.atTheEnd()).toEqual([]);
});

test('Payonce must store a delivered callback that matches no payment', async () => {
  const { chargeId } = await harness.processor.inside.charge({ amountMinor: 500 });
  world.callbacks.push({
    processor: 'sandbox',
    chargeId,
    takenAtMs: harness.clock.nowMs(),
    firstAtMs: harness.clock.nowMs(),
  });
  expect(world.atTheEnd()).toEqual(['F18 delivered callbacks are processed']);
  await sendCallback(chargeId);
  expect(world.atTheEnd()).toEqual([]);
});
