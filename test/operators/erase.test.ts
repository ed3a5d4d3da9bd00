/** Tests the guarantee "erased data". */
import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { DynamoDbActivity, eraseDetails } from '../../lambdas/activity/store/dynamodb-activity.ts';
import { eventOf, nameOfEvent, type PaymentEvent } from '../../lambdas/events/domain/event.ts';
import { readEvent } from '../../lambdas/events/http/event-schemas.ts';
import { keepCommission } from '../../lambdas/follow-ups/keep-commission.ts';
import { releaseCommissionsJob } from '../../lambdas/follow-ups/release-commissions.ts';
import { sendReceipt } from '../../lambdas/follow-ups/send-receipt.ts';
import { DynamoDbCommissions } from '../../lambdas/follow-ups/store/dynamodb-commissions.ts';
import type { Answer } from '../../lambdas/kernel/answer.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { hex } from '../../lambdas/kernel/hash-chain.ts';
import { type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { RECORD_RETENTION_DAYS } from '../../lambdas/once/domain/idempotency.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { detailsKey } from '../../lambdas/once/store/details-rows.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/once/store/dynamodb-consumer-records.ts';
import { DynamoDbApprovals } from '../../lambdas/operators/store/dynamodb-approvals.ts';
import { type AnnotatePayment, annotatePayment } from '../../lambdas/operators/use/annotate-payment.ts';
import { approve } from '../../lambdas/operators/use/approve.ts';
import { type CorrectLedger, correctLedger } from '../../lambdas/operators/use/correct-ledger.ts';
import { type ErasePaymentOutcome, erasePayment } from '../../lambdas/operators/use/erase-payment.ts';
import { firstBrokenOrderLink } from '../../lambdas/orders/domain/order-transition.ts';
import { paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { DynamoDbOrders } from '../../lambdas/orders/store/dynamodb-orders.ts';
import { createOrder } from '../../lambdas/orders/use/create-order.ts';
import { eraseOrder } from '../../lambdas/orders/use/erase-order.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import { isOutcome, type Payment } from '../../lambdas/payments/domain/payment.ts';
import { detailsOf, firstBrokenLink, nextTransition } from '../../lambdas/payments/domain/transition.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { changePayment } from '../../lambdas/payments/use/change-payment.ts';
import { type CreatePayment, createPayment } from '../../lambdas/payments/use/create-payment.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ProjectedEvents } from '../../lambdas/views/use/projected-events.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { MemoryMailer } from '../orders/memory-mailer.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { disputed, refunded } from '../payments/paid-chain.ts';
import { change, openRecord, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const TEXT = 'Ada Lovelace';
/** Stands for the keyed hash of an e-mail address. */
const HASH = 'abcdefghabcdefghabcdefghabcdefgh';
const ACTION: Fact = { kind: 'action_required', chargeId: 'ch_1', actionUrl: 'https://bank.example/approve' };
const AUTHORIZED: Fact = { kind: 'authorized', chargeId: 'ch_1' };
const DECLINED: Fact = { kind: 'declined', failure: { code: 'card_declined', message: 'no' } };
const PAID: Fact = { kind: 'succeeded', chargeId: 'ch_1' };
const REFUNDED = refunded('re_1', 400);
const notes = {
  description: `For ${TEXT}`,
  metadata: { name: TEXT, receipt_email: `${TEXT}@example.com` },
  emailHash: HASH,
};

let world: ReturnType<typeof open>;
beforeEach(() => {
  world = open();
});

function open() {
  const harness = new World();
  const database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => harness.clock.nowMs() });
  const { client } = database;
  const { clock } = harness;
  const pacing = { clock, entropy: harness.tools.entropy };
  const store = new DynamoDbStore(client, TABLES, pacing);
  const orders = new DynamoDbOrders(client, TABLES, pacing, store);
  const views = new DynamoDbViews(client, TABLES.views, pacing);
  const tools = { ...harness.tools, store, orders, runner: idempotentRunner };
  const activity = new DynamoDbActivity(client, TABLES, pacing);
  const actor = { by: 'command' as const, operator: 'ada' };
  const erase = ({ id, tenantId, mode }: Pick<Payment, 'tenantId' | 'mode'> & { readonly id: string }) =>
    eraseDetails({ client, registry: TABLES.registry, pacing }, activity, {
      chain: { tenantId, mode },
      action: 'payment.erased',
      actor,
      about: [id],
      occurredAtMs: clock.nowMs(),
    });
  const everything = async (): Promise<string> => {
    const found = await Promise.all(
      Object.values(TABLES).map((TableName) => client.send(new ScanCommand({ TableName }))),
    );
    const print = (_key: string, value: unknown) => (value instanceof Uint8Array ? hex(value) : value);
    return JSON.stringify(
      found.map(({ Items }) => Items),
      print,
    );
  };
  const processed = new ProjectedEvents(views);
  const publish = async (paymentId: PaymentId): Promise<readonly PaymentEvent[]> => {
    const chain = await readChain(store, paymentId);
    invariant(chain !== undefined, 'the payment to publish does not exist');
    const outcomes = chain.transitions.filter(({ type }) => isOutcome(type));
    const events = outcomes.map((transition) => eventOf(systemDigest, transition, detailsOf(chain.first)));
    for (const event of events) await projectEvent({ views, runner: idempotentRunner }, event);
    return events;
  };
  const effects = new DynamoDbApprovals(client, TABLES, pacing, store);
  const learn = async (paymentId: PaymentId, facts: readonly Fact[]): Promise<void> => {
    for (const fact of facts) {
      const chain = await readChain(store, paymentId);
      invariant(chain !== undefined, 'the payment does not exist');
      const decision = decide(fact, chain.state);
      invariant(decision.kind === 'append', 'the fact causes no transition');
      const occasion = { occurredAtMs: clock.nowMs(), cause: BY_OPERATOR };
      const transition = nextTransition(systemDigest, chain, decision.draft, occasion);
      const operationId = storedOperationId(`evt_${transition.sequence}`);
      const record = { operationId, owner: tools.entropy.ownerToken(), recordedAtMs: clock.nowMs() };
      await effects.recordEffect({ record, transitions: [transition] });
    }
  };
  const records = new DynamoDbConsumerRecords(client, TABLES, pacing);
  return {
    client,
    database,
    clock,
    store,
    activity,
    orders,
    views,
    processed,
    tools,
    effects,
    records,
    erase,
    everything,
    publish,
    learn,
  };
}

describe('a payment', () => {
  const request = paymentRequest('p', notes);

  test('can be erased: its text is removed from all tables, and its amounts and complete chain remain', async () => {
    const { store, processed, tools, erase, everything, publish } = world;
    const first = await createPayment(tools, { ...request, capture: 'manual' });
    await changePayment(tools, change(request, 'c', { kind: 'capture' }));
    await changePayment(
      tools,
      change(request, 'r', { kind: 'refund', amountMinor: 300, reason: `Returned by ${TEXT}` }),
    );
    for (const event of await publish(request.paymentId)) expect(JSON.stringify(event)).toContain(TEXT);
    expect(await everything()).toContain(TEXT);
    expect(await everything()).toContain(HASH);
    expect(JSON.stringify(await createPayment(tools, { ...request, capture: 'manual' }))).toContain(TEXT);
    expect(await createPayment(tools, { ...request, capture: 'manual' })).toMatchObject({
      kind: 'replay',
      answer: 'answer' in first ? first.answer : {},
    });

    const ask = { store, processed, erase };
    expect(await erasePayment(ask, request.paymentId)).toEqual({ kind: 'erased' });
    expect(await erasePayment(ask, request.paymentId)).toEqual({ kind: 'nothing_to_erase' });
    const log = await world.activity.listActivity(request, { order: 'oldest_first', limit: 9 });
    expect(log).toMatchObject([{ action: 'payment.erased', about: [request.paymentId] }]);

    expect(await everything()).not.toContain(TEXT);
    expect(await everything()).not.toContain(HASH);
    const chain = await readChain(store, request.paymentId);
    expect(firstBrokenLink(systemDigest, chain?.transitions ?? [])).toBeUndefined();
    expect(chain?.state.payment).toMatchObject({ amountCapturedMinor: 1000, amountRefundedMinor: 300 });
    const again = await createPayment(tools, { ...request, capture: 'manual' });
    expect(again).toMatchObject({ kind: 'replay' });
    expect('answer' in again ? JSON.parse(again.answer.body) : {}).toMatchObject({
      description: null,
      metadata: {},
      details_erased: true,
    });
  });

  test('is erased together with the reasons of its refunds, corrections and annotations', async () => {
    const { store, tools, everything, client, effects } = world;
    const desk = { ...tools, effects, digest: systemDigest };
    await createPayment(tools, paymentRequest('p'));
    const refund = change(request, 'r', { kind: 'refund', amountMinor: 300, reason: `Returned by ${TEXT}` });
    const given = await changePayment(tools, refund);
    const correction: CorrectLedger = {
      cause: BY_OPERATOR,
      operationId: storedOperationId('cor_a'),
      fingerprint: fingerprintOf(systemDigest, { body: {}, query: {} }),
      payment: request.paymentId,
      reason: `Asked for by ${TEXT}`,
      by: OPERATOR,
      asked: { kind: 'correction', change: { kind: 'reverse', sequence: 2 } },
    };
    const corrected = await correctLedger(desk, correction);
    const annotation: AnnotatePayment = {
      ...correction,
      operationId: storedOperationId('ann_a'),
      reason: `A note about ${TEXT}`,
    };
    const annotated = await annotatePayment(desk, annotation);
    const bodyOf = (outcome: object) => ('answer' in outcome ? (outcome.answer as Answer).body : '');
    for (const [first, again] of [
      [given, await changePayment(tools, refund)],
      [corrected, await correctLedger(desk, correction)],
      [annotated, await annotatePayment(desk, annotation)],
    ]) {
      expect(again?.kind).toBe('replay');
      expect(bodyOf(first ?? {})).toContain(TEXT);
      expect(bodyOf(again ?? {})).toBe(bodyOf(first ?? {}));
    }
    const { Items = [] } = await client.send(new ScanCommand({ TableName: TABLES.registry }));
    const holders = Items.filter((item) => JSON.stringify(item).includes(TEXT)).map(({ pk }) => String(pk));
    expect(holders).toEqual(Array(3).fill(`DETAILS#${request.paymentId}`));
    expect((await everything()).split(TEXT)).toHaveLength(4);

    await world.publish(request.paymentId);
    expect(await erasePayment(world, request.paymentId)).toEqual({ kind: 'erased' });

    expect(await everything()).not.toContain(TEXT);
    const chain = await readChain(store, request.paymentId);
    expect(chain?.transitions.map(({ type }) => type)).toEqual([
      'payment.created',
      'payment.completed',
      'refund.pending',
      'refund.completed',
      'ledger.corrected',
      'payment.annotated',
    ]);
    expect(firstBrokenLink(systemDigest, chain?.transitions ?? [])).toBeUndefined();
    for (const again of [
      await changePayment(tools, refund),
      await correctLedger(desk, correction),
      await annotatePayment(desk, annotation),
    ])
      expect(JSON.parse(bodyOf(again))).toMatchObject({ reason: null, details_erased: true });
  });

  test('stays erased if the approval of a correction read the reason before the erasure: the approval is refused', async () => {
    const { tools, clock, store, everything } = world;
    const desk = { ...tools, effects: world.effects, approvals: { aboveMinor: { EUR: 1 }, lifetimeMs: 3_600_000 } };
    await createPayment(tools, paymentRequest('p'));
    const asked = await correctLedger(desk, {
      cause: BY_OPERATOR,
      operationId: storedOperationId('cor_a'),
      fingerprint: fingerprintOf(systemDigest, { body: {}, query: {} }),
      payment: request.paymentId,
      reason: `Asked for by ${TEXT}`,
      by: OPERATOR,
      asked: { kind: 'correction', change: { kind: 'reverse', sequence: 2 } },
    });
    expect(await everything()).toContain(TEXT);
    const pacing = { clock, entropy: tools.entropy };
    const erasedBefore = new (class extends DynamoDbApprovals {
      override async recordEffect(...effect: Parameters<DynamoDbApprovals['recordEffect']>) {
        await world.erase({ ...request, id: request.paymentId });
        return super.recordEffect(...effect);
      }
    })(world.client, TABLES, pacing, store);
    const { id } = JSON.parse('answer' in asked ? asked.answer.body : '{}') as { readonly id: string };
    const by = { ...OPERATOR, name: 'Ben Example', person: 'Ben Example', identity: 'key_ben' };
    const verdict = { id, by, cause: BY_OPERATOR };
    expect(await approve({ ...desk, effects: erasedBefore }, verdict)).toEqual({ kind: 'reason_erased' });
    expect(await everything()).not.toContain(TEXT);
    expect((await readChain(store, request.paymentId))?.newest.type).toBe('payment.completed');
  });

  test('leaves no hash that could confirm a guess of its text after its erasure and the expiry of its idempotency records', async () => {
    const { tools, clock, database, everything } = world;
    await createPayment(tools, request);
    const reason = `Returned by ${TEXT}`;
    const refund = change(request, 'r', { kind: 'refund', amountMinor: 300, reason });
    await changePayment(tools, refund);
    await world.publish(request.paymentId);
    expect(await erasePayment(world, request.paymentId)).toEqual({ kind: 'erased' });
    // The chain contains the amount and the token, so an attacker needs to guess only the text.
    const guesses = [request.fingerprint, refund.fingerprint].map(({ sha256 }) => hex(sha256));
    const { Items: ledger } = await world.client.send(new ScanCommand({ TableName: TABLES.ledger }));
    const inLedger = JSON.stringify(ledger, (_key, each: unknown) => (each instanceof Uint8Array ? hex(each) : each));
    for (const guess of guesses) expect(inLedger).not.toContain(guess);
    clock.advance(RECORD_RETENTION_DAYS * 24 * 60 * 60_000);
    database.deleteExpired();
    for (const guess of guesses) expect(await everything()).not.toContain(guess);
  });

  test('has one activity-log entry if it is erased twice concurrently', async () => {
    await createPayment(world.tools, request);
    await world.publish(request.paymentId);
    const both = await Promise.all([1, 2].map(() => erasePayment(world, request.paymentId)));
    const log = await world.activity.listActivity(request, { order: 'oldest_first', limit: 9 });
    expect([both.filter(({ kind }) => kind === 'erased').length, log.length]).toEqual([1, 1]);
  });

  test('is not erased while its outcome is open', async () => {
    await createPayment(world.tools, { ...request, source: 'tok_async' });
    const outcome = await erasePayment(world, request.paymentId);
    expect(outcome).toEqual({ kind: 'unfinished', status: 'processing' });
    expect(await world.everything()).toContain(TEXT);
  });

  test('is not erased before its success is published, because the receipt and the commission depend on the data', async () => {
    await createPayment(world.tools, request);
    expect(await erasePayment(world, request.paymentId)).toEqual({ kind: 'unpublished' });
    expect(await world.everything()).toContain(TEXT);
    await world.publish(request.paymentId);
    expect(await erasePayment(world, request.paymentId)).toEqual({ kind: 'erased' });
  });

  test.each<[string, Partial<CreatePayment>, readonly Fact[], ErasePaymentOutcome]>([
    ['its outcome is unknown', {}, [], { kind: 'unfinished', status: 'processing' }],
    ['it waits for the payer', {}, [ACTION], { kind: 'unfinished', status: 'requires_action' }],
    ['it is authorized', { capture: 'manual' }, [AUTHORIZED], { kind: 'unfinished', status: 'requires_capture' }],
    ['it is in review', {}, [{ ...PAID, capturedMinor: 999 }], { kind: 'unfinished', status: 'needs_review' }],
    ['it failed', {}, [DECLINED], { kind: 'erased' }],
    ['it failed, and money arrived late', {}, [DECLINED, PAID], { kind: 'erased' }],
    ['it succeeded, unpublished', {}, [PAID], { kind: 'unpublished' }],
    ['it was refunded, unpublished', {}, [PAID, REFUNDED], { kind: 'unpublished' }],
  ])('is erased, or its erasure is refused, when %s', async (_moment, changes, facts, outcome) => {
    await createPayment(world.tools, { ...request, source: 'tok_async', ...changes });
    await world.learn(request.paymentId, facts);
    expect(await erasePayment(world, request.paymentId)).toEqual(outcome);
    await world.publish(request.paymentId);
    const isEnded = outcome.kind !== 'unfinished';
    const again = outcome.kind === 'erased' ? 'nothing_to_erase' : isEnded ? 'erased' : 'unfinished';
    expect((await erasePayment(world, request.paymentId)).kind).toBe(again);
    expect((await world.everything()).includes(TEXT)).toBe(!isEnded);
    const chain = await readChain(world.store, request.paymentId);
    expect(firstBrokenLink(systemDigest, chain?.transitions ?? [])).toBeUndefined();
  });

  // For each case: the facts before and after the erasure, and the expected results at the event consumers.
  test.each<[string, readonly Fact[], readonly Fact[], { readonly receipts: number; readonly commission: unknown }]>([
    ['nothing', [], [], { receipts: 0, commission: ['released', 100] }],
    [
      'a partial refund, then another refund',
      [REFUNDED],
      [refunded('re_2', 300)],
      { receipts: 0, commission: ['released', 30] },
    ],
    ['nothing, then a full refund', [], [refunded('re_2', 1000)], { receipts: 0, commission: ['canceled', 0] }],
    [
      'a refund, then its failure',
      [REFUNDED],
      [refunded('re_1', 400, true)],
      { receipts: 0, commission: ['released', 100] },
    ],
    [
      'an open dispute, then its loss',
      [disputed('open')],
      [disputed('lost')],
      { receipts: 0, commission: ['canceled', 0] },
    ],
    [
      'nothing, then a stray charge',
      [],
      [{ kind: 'succeeded', chargeId: 'ch_2' }],
      { receipts: 0, commission: ['released', 100] },
    ],
  ])(
    'has the correct effects at the event consumers after an erasure in the middle of its history: %s',
    async (_what, before, after, expected) => {
      const { tools, records, clock, client, store } = world;
      const metadata = { affiliate: 'aff_7', order: 'o1', receipt_email: 'ada.lovelace@example.com' };
      await createPayment(tools, { ...request, metadata, source: 'tok_async' });
      await world.learn(request.paymentId, [PAID, ...before]);
      const old = await world.publish(request.paymentId);
      expect(await erasePayment(world, request.paymentId)).toEqual({ kind: 'erased' });
      await world.learn(request.paymentId, after);
      // After an outage, the events may be published again.
      const late = await world.publish(request.paymentId);
      expect(JSON.stringify(late)).not.toMatch(/aff_7|ada\.lovelace/);
      const mailer = new MemoryMailer();
      const unsent = (payment: string, why: string) => invariant(false, `${payment} ${why}`);
      const consumer = { ...tools, records, mailer, unsent, payments: store };
      for (const detail of [...late, ...old]) {
        const read = readEvent(nameOfEvent(detail.event), JSON.parse(JSON.stringify(detail)));
        invariant(read.kind === 'event', 'the event is unreadable');
        const { event } = read;
        await keepCommission(consumer, event);
        if (event.event.type === 'payment.completed') await sendReceipt(consumer, event);
      }
      clock.advance(31 * 24 * 60 * 60_000);
      const unreadable = (error: unknown): never => {
        throw error;
      };
      const book = new DynamoDbCommissions({
        client,
        table: TABLES.registry,
        pacing: { clock, entropy: tools.entropy },
        unreadable,
      });
      await sweepJob(releaseCommissionsJob({ ...consumer, book }), { nowMs: clock.nowMs() });
      const row = await book.readCommission({ ...request, affiliate: 'aff_7', orderId: 'o1' });
      expect({ receipts: mailer.outbox.length, commission: [row?.status, row?.amountMinor] }).toEqual(expected);
      expect(await world.everything()).not.toContain('ada.lovelace');
    },
  );

  test('can be erased during a refund, which then completes once', async () => {
    const { tools, store } = world;
    await createPayment(tools, request);
    await world.publish(request.paymentId);
    const command = { kind: 'refund', amountMinor: 300, reason: `Returned by ${TEXT}` } as const;
    const refund = change(request, 'r', command);
    const gone = { ...tools.processor, change: () => Promise.reject(new Error('the process crashed')) };
    await expect(changePayment({ ...tools, processor: gone }, refund)).rejects.toThrow('the process crashed');
    expect(await erasePayment(world, request.paymentId)).toEqual({ kind: 'erased' });
    expect(await world.everything()).not.toContain(TEXT);
    world.clock.advance(60_000);
    const ended = await changePayment(tools, refund);
    expect('answer' in ended ? JSON.parse(ended.answer.body) : {}).toMatchObject({ amount: 300, details_erased: true });
    expect(await changePayment(tools, { ...refund, fingerprint: request.fingerprint })).toEqual({
      kind: 'payload_mismatch',
    });
    expect((await readChain(store, request.paymentId))?.state.payment.amountRefundedMinor).toBe(300);
    expect(await world.everything()).not.toContain(TEXT);
  });

  test('cannot be read if its details row was changed', async () => {
    await createPayment(world.tools, request);
    const Item = { ...detailsKey(request.paymentId), salt: new Uint8Array(16), details: { description: 'forged' } };
    await world.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
    await expect(world.store.readPayment(request.paymentId)).rejects.toThrow('match the commitment');
  });
});

test('an order is not erased before its response, which contains the e-mail address, is stored', async () => {
  const { orders, tools, erase, everything } = world;
  const request = orderRequest('unanswered', { email: 'ada.lovelace@example.com' });
  await createOrder(tools, request);
  const records = { readRecord: async () => openRecord(paymentOfOrder(systemDigest, request.orderId)) };
  expect(await eraseOrder({ orders, records, erase }, request.orderId)).toEqual({ kind: 'unfinished' });
  expect(await everything()).toContain('ada.lovelace');
});

test('a settled order can be erased: its e-mail address and referrer are removed from all tables, and its chain remains', async () => {
  const { store, orders, tools, erase, everything } = world;
  const request = orderRequest('tea', { email: 'ada.lovelace@example.com', referrer: 'charles.babbage' });
  await createOrder(tools, request);
  expect(await everything()).toContain('ada.lovelace');
  expect(await eraseOrder({ orders, records: store, erase }, request.orderId)).toEqual({ kind: 'erased' });
  expect(await everything()).not.toMatch(/ada\.lovelace|charles\.babbage/);
  const chain = await orders.listOrderTransitions(request.orderId, { afterSequence: 0, limit: 100 });
  expect(firstBrokenOrderLink(systemDigest, chain)).toBeUndefined();
  const again = await createOrder(tools, request);
  expect('answer' in again ? JSON.parse(again.answer.body) : {}).toMatchObject({ email: null, details_erased: true });
});
