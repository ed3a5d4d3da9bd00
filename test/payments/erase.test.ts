import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { DynamoDbActivity, eraseDetails } from '../../lambdas/activity/store/dynamodb-activity.ts';
import { eventOf, type PaymentEvent } from '../../lambdas/events/domain/event.ts';
import type { Answer } from '../../lambdas/kernel/answer.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { detailsKey } from '../../lambdas/once/store/details-rows.ts';
import { firstBrokenOrderLink } from '../../lambdas/orders/domain/order-transition.ts';
import { DynamoDbOrders } from '../../lambdas/orders/store/dynamodb-orders.ts';
import { createOrder } from '../../lambdas/orders/use/create-order.ts';
import { eraseOrder } from '../../lambdas/orders/use/erase-order.ts';
import { isOutcome, type Payment } from '../../lambdas/payments/domain/payment.ts';
import { detailsOf, firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { DynamoDbEffects } from '../../lambdas/payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { changePayment } from '../../lambdas/payments/use/change-payment.ts';
import { type CorrectLedger, correctLedger } from '../../lambdas/payments/use/correct-ledger.ts';
import { createPayment } from '../../lambdas/payments/use/create-payment.ts';
import { erasePayment } from '../../lambdas/payments/use/erase-payment.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ProjectedEvents } from '../../lambdas/views/use/seen-events.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { BY_OPERATOR } from '../support/causes.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';
import { change, paymentRequest } from './payment-fixtures.ts';

const TEXT = 'Ada Lovelace';
/** The keyed hash of an e-mail address. */
const HASH = 'abcdefghabcdefghabcdefghabcdefgh';
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
  const { client } = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => harness.clock.nowMs() });
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
    return JSON.stringify(found.map(({ Items }) => Items));
  };
  const seen = new ProjectedEvents(views);
  /** Publishes the outcomes of a payment, each with the details as they are now, and projects them. */
  const publish = async (paymentId: PaymentId): Promise<readonly PaymentEvent[]> => {
    const chain = await readChain(store, paymentId);
    invariant(chain !== undefined, 'a payment to publish exists');
    const outcomes = chain.transitions.filter(({ type }) => isOutcome(type));
    const events = outcomes.map((transition) => eventOf(systemDigest, transition, detailsOf(chain.first)));
    for (const event of events) await projectEvent({ views, runner: idempotentRunner }, event);
    return events;
  };
  return { client, store, activity, orders, views, seen, tools, erase, everything, publish };
}

describe('a payment', () => {
  const request = paymentRequest('p', notes);

  test('is erased: its text is in no table, its chain is whole, and its amounts are there', async () => {
    const { store, seen, tools, erase, everything, publish } = world;
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

    const ask = { store, seen, erase };
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

  test('has reasons that are erased with it, of refunds and corrections', async () => {
    const { store, tools, everything, client } = world;
    const { clock } = tools;
    const effects = new DynamoDbEffects(client, TABLES, { clock, entropy: tools.entropy }, store);
    const desk = { ...tools, effects, digest: systemDigest };
    await createPayment(tools, paymentRequest('p'));
    const refund = change(request, 'r', { kind: 'refund', amountMinor: 300, reason: `Returned by ${TEXT}` });
    const refunded = await changePayment(tools, refund);
    const correction: CorrectLedger = {
      caller: request,
      cause: BY_OPERATOR,
      operationId: storedOperationId('cor_a'),
      fingerprint: fingerprintOf(systemDigest, { body: {}, query: {} }),
      payment: request.paymentId,
      reason: `Asked for by ${TEXT}`,
      operator: 'Ada Example',
      change: { kind: 'reverse', sequence: 2 },
    };
    const corrected = await correctLedger(desk, correction);
    const bodyOf = (outcome: object) => ('answer' in outcome ? (outcome.answer as Answer).body : '');
    for (const [first, again] of [
      [refunded, await changePayment(tools, refund)],
      [corrected, await correctLedger(desk, correction)],
    ]) {
      expect(again?.kind).toBe('replay');
      expect(bodyOf(first ?? {})).toContain(TEXT);
      expect(bodyOf(again ?? {})).toBe(bodyOf(first ?? {}));
    }
    // Of all tables, only the details rows have the text.
    const { Items = [] } = await client.send(new ScanCommand({ TableName: TABLES.registry }));
    const holders = Items.filter((item) => JSON.stringify(item).includes(TEXT)).map(({ pk }) => String(pk));
    expect(holders).toEqual(Array(2).fill(`DETAILS#${request.paymentId}`));
    expect((await everything()).split(TEXT)).toHaveLength(3);

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
    ]);
    expect(firstBrokenLink(systemDigest, chain?.transitions ?? [])).toBeUndefined();
    for (const again of [await changePayment(tools, refund), await correctLedger(desk, correction)])
      expect(JSON.parse(bodyOf(again))).toMatchObject({ reason: null, details_erased: true });
  });

  test('erased by two operators at once has one entry', async () => {
    await createPayment(world.tools, request);
    await world.publish(request.paymentId);
    const both = await Promise.all([1, 2].map(() => erasePayment(world, request.paymentId)));
    const log = await world.activity.listActivity(request, { order: 'oldest_first', limit: 9 });
    expect([both.filter(({ kind }) => kind === 'erased').length, log.length]).toEqual([1, 1]);
  });

  test('is not erased before it has ended', async () => {
    await createPayment(world.tools, { ...request, source: 'tok_async' });
    const outcome = await erasePayment(world, request.paymentId);
    expect(outcome).toEqual({ kind: 'unfinished', status: 'processing' });
    expect(await world.everything()).toContain(TEXT);
  });

  test('is not erased before its success was published, which the receipt and the commission are made from', async () => {
    await createPayment(world.tools, request);
    expect(await erasePayment(world, request.paymentId)).toEqual({ kind: 'unpublished' });
    expect(await world.everything()).toContain(TEXT);
    await world.publish(request.paymentId);
    expect(await erasePayment(world, request.paymentId)).toEqual({ kind: 'erased' });
  });

  test('whose details row was changed cannot be read', async () => {
    await createPayment(world.tools, request);
    const Item = { ...detailsKey(request.paymentId), salt: new Uint8Array(16), details: { description: 'forged' } };
    await world.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
    await expect(world.store.readPayment(request.paymentId)).rejects.toThrow('match the commitment');
  });
});

test('an order is erased once it is settled: its addresses are in no table, and its chain is whole', async () => {
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
