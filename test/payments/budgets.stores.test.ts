/** Tests the guarantee "bounded cost". */
import { type AttributeValue, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import pMap from 'p-map';
import { receiveCallback } from '../../lambdas/callbacks/receive-callback.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { DynamoDbApprovals } from '../../lambdas/operators/store/dynamodb-approvals.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { type CreatePaymentTools, createPayment } from '../../lambdas/payments/use/create-payment.ts';

import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { engineProcess } from '../bench/bench-engine.ts';
import { itemSizeBytes } from '../bench/bench-item-size.ts';
import { type MeteredCall, meteredClient } from '../bench/bench-metered-client.ts';
import { typicalPayment, typicalProcessor } from '../bench/bench-typical-payment.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { chainFor, type PaymentHistoryPlan } from '../views/view-histories.ts';
import type { SandboxInProcess } from '../world/sandbox-in-process.ts';
import { callback } from './payment-fixtures.ts';

const KILOBYTE = 1024;

let tables: Awaited<ReturnType<typeof createTables>>;
let payments = 0;
beforeAll(async () => {
  tables = await createTables('budgets');
});

const freshKey = (): string => {
  payments += 1;
  return `budget-${payments}`;
};

const metered = () =>
  meteredClient({
    endpoint: emulatedAws().awsEndpoint,
    region: 'us-east-1',
    credentials: CREDENTIALS,
    requestHandler: dynamoDbClient().config.requestHandler,
  });

function meteredProcess(processor = typicalProcessor()): { tools: CreatePaymentTools; calls: readonly MeteredCall[] } {
  const { client, calls } = metered();
  return { tools: engineProcess(client, tables, processor), calls };
}

const unitsOf = (calls: readonly MeteredCall[]): number => calls.reduce((sum, { units }) => sum + units, 0);

async function itemsOf(paymentId: PaymentId) {
  const client = dynamoDbClient();
  const record = await client.send(
    new GetItemCommand({ TableName: tables.idempotency, Key: { pk: { S: `OP#${paymentId}` } }, ConsistentRead: true }),
  );
  const ledger = await client.send(
    new QueryCommand({
      TableName: tables.ledger,
      KeyConditionExpression: 'pk = :payment',
      ExpressionAttributeValues: { ':payment': { S: `PAY#${paymentId}` } },
      ConsistentRead: true,
    }),
  );
  const items: readonly (Record<string, AttributeValue> | undefined)[] = [record.Item, ...(ledger.Items ?? [])];
  return items.map((item) => itemSizeBytes(item ?? {}));
}

describe('the first execution of a payment', () => {
  test('makes two sequential durable writes and no read, with at most 11 write units, indexes included', async () => {
    const { tools, calls } = meteredProcess();
    const outcome = await createPayment(tools, typicalPayment(freshKey()));
    expect(outcome).toMatchObject({ kind: 'first', answer: { status: 201 } });
    expect(calls.map(({ name, applied }) => [name, applied])).toEqual([
      ['TransactWriteItems', true],
      ['TransactWriteItems', true],
    ]);
    expect(unitsOf(calls)).toBeLessThanOrEqual(11);
  });

  test('uses at most 13 write units with a reference', async () => {
    const { tools, calls } = meteredProcess();
    await createPayment(tools, typicalPayment(freshKey(), { reference: 'order-6735' }));
    expect(calls).toHaveLength(2);
    expect(unitsOf(calls)).toBeLessThanOrEqual(13);
  });

  test('uses at most 15 write units with a reference and 500 bytes of metadata, which have their own row', async () => {
    const { tools, calls } = meteredProcess();
    const metadata = { note: 'n'.repeat(496) };
    await createPayment(tools, typicalPayment(freshKey(), { reference: 'order-6736', metadata }));
    expect(calls).toHaveLength(2);
    expect(unitsOf(calls)).toBeLessThanOrEqual(15);
  });

  test('uses one more write unit with a receipt_email, for the index of the details row', async () => {
    const { tools, calls } = meteredProcess();
    const metadata = { receipt_email: 'ada@example.com', note: 'n'.repeat(400) };
    const emailHash = 'abcdefghabcdefghabcdefghabcdefgh';
    await createPayment(tools, typicalPayment(freshKey(), { reference: 'order-6737', metadata, emailHash }));
    expect(calls).toHaveLength(2);
    expect(unitsOf(calls)).toBeLessThanOrEqual(16);
  });

  test('uses at most 13 write units for an authorization, including two for the hold-queue entry', async () => {
    const { tools, calls } = meteredProcess();
    const outcome = await createPayment(tools, typicalPayment(freshKey(), { capture: 'manual' }));
    expect(outcome).toMatchObject({ kind: 'first', answer: { status: 201 } });
    expect(calls).toHaveLength(2);
    expect(unitsOf(calls)).toBeLessThanOrEqual(13);
  });

  test('uses at most 11 write units if it is declined', async () => {
    const { tools, calls } = meteredProcess();
    const outcome = await createPayment(tools, typicalPayment(freshKey(), { source: 'tok_declined' }));
    expect(outcome).toMatchObject({ kind: 'first', answer: { status: 402 } });
    expect(calls).toHaveLength(2);
    expect(unitsOf(calls)).toBeLessThanOrEqual(11);
  });

  test.each(['tok_ok', 'tok_declined'])('writes no item larger than a kilobyte (%s)', async (source) => {
    const { tools } = meteredProcess();
    const request = typicalPayment(freshKey(), { source, reference: `order-${source}` });
    await createPayment(tools, request);
    const sizes = await itemsOf(request.paymentId);
    expect(sizes).toHaveLength(3);
    expect(sizes.filter((bytes) => bytes > KILOBYTE)).toEqual([]);
  });
});

describe('a replay', () => {
  test('makes one call in a cold process: a refused write that uses at most 5 write units', async () => {
    const request = typicalPayment(freshKey());
    await createPayment(meteredProcess().tools, request);
    const { tools, calls } = meteredProcess();
    expect(await createPayment(tools, request)).toMatchObject({ kind: 'replay', source: 'store' });
    expect(calls.map(({ name, applied }) => [name, applied])).toEqual([['TransactWriteItems', false]]);

    // A transactional write whose condition fails uses two units for each kilobyte of the existing items.
    const [record = 0, first = 0] = await itemsOf(request.paymentId);
    expect([record, first].map((bytes) => 2 * Math.ceil(bytes / KILOBYTE))).toEqual([2, 2]);
  });

  test('makes no call in a warm process', async () => {
    const { tools, calls } = meteredProcess();
    const request = typicalPayment(freshKey());
    await createPayment(tools, request);
    const before = calls.length;
    expect(await createPayment(tools, request)).toMatchObject({ kind: 'replay', source: 'cache' });
    expect(calls).toHaveLength(before);
  });
});

describe('a callback', () => {
  /** `take` receives the callback about the change. */
  async function waiting(source: string, settle: (processor: SandboxInProcess, charge: string) => Promise<unknown>) {
    const processor = typicalProcessor();
    const { tools } = meteredProcess(processor);
    const request = typicalPayment(freshKey(), { source });
    await createPayment(tools, request);
    const [charge] = processor.charges(request.paymentId);
    if (charge === undefined) throw new Error('the payment has no charge');
    await settle(processor, charge.chargeId);
    const { client, calls } = metered();
    const { clock, entropy, digest, runner } = tools;
    const store = new DynamoDbStore(documentClient(client), tables, { clock, entropy });
    const effects = new DynamoDbApprovals(documentClient(client), tables, { clock, entropy }, store);
    const event = callback(`evt_${request.paymentId}`, charge.chargeId);
    return { calls, take: () => receiveCallback({ effects, books: processor, runner, clock, entropy, digest }, event) };
  }

  const writes = (calls: readonly MeteredCall[]) => calls.filter(({ name }) => name === 'TransactWriteItems');

  /**
   * Write units of a dispute's callback. The dispute makes the transition larger than a kilobyte, and adds a queue
   * entry to the table and its index.
   */
  const DISPUTE_UNITS = 10;

  test.each<[string, number, string, (processor: SandboxInProcess, charge: string) => Promise<unknown>]>([
    ['for a settled payment', 5, 'tok_async', ({ inside }, charge) => inside.approve(charge)],
    ['for a refund', 5, 'tok_ok', ({ inside }, charge) => inside.refund(charge, 300)],
    ['for a dispute', DISPUTE_UNITS, 'tok_ok', ({ inside }, charge) => inside.dispute(charge, 12_500)],
  ])(
    '%s makes one durable write with at most %i write units, indexes included',
    async (_what, most, source, settle) => {
      const { calls, take } = await waiting(source, settle);
      expect(await take()).toMatchObject({ kind: 'recorded', transitions: [expect.any(String)] });
      expect(writes(calls)).toHaveLength(1);
      expect(unitsOf(writes(calls))).toBeLessThanOrEqual(most);
      expect(calls.map(({ name }) => name).filter((name) => name !== 'TransactWriteItems')).toEqual([
        'GetItem',
        'Query',
      ]);
    },
  );

  test('uses one read if it is redelivered', async () => {
    const { calls, take } = await waiting('tok_async', ({ inside }, charge) => inside.approve(charge));
    await take();
    const before = calls.length;
    expect(await take()).toEqual({ kind: 'redelivered' });
    expect(calls.slice(before).map(({ name }) => name)).toEqual(['GetItem']);
  });
});

describe('a projected event', () => {
  /** Projects the events of a successful payment into the Views, before the day of the events ends. */
  async function projected(changes: Partial<PaymentHistoryPlan> = {}) {
    const { client, calls } = metered();
    const { clock, entropy } = meteredProcess().tools;
    const views = new DynamoDbViews(documentClient(client), tables.views, { clock, entropy });
    const chain = chainFor({
      key: freshKey(),
      tenant: 'ten_budgets',
      mode: 'test',
      reference: undefined,
      amountMinor: 12_500,
      currency: 'EUR',
      hours: [0, 1, 2, 3],
      steps: [{ kind: 'succeeded', chargeId: 'ch_1' }],
      ...changes,
    });
    const metadata = { text: 'x'.repeat(500) };
    const events = eventsOf(systemDigest, chain);
    const take = async () => {
      for (const event of events) {
        const own = { runner: idempotentRunner, views, clock: { nowMs: () => event.occurredAtMs } };
        await projectEvent(own, { ...event, payment: { ...event.payment, metadata } });
      }
    };
    await take();
    return { calls, take, events: events.length };
  }

  test('writes five rows in three calls with at most 7 write units, indexes included, after one call that reads two rows', async () => {
    const { calls } = await projected();
    expect(calls.map(({ name, keys }) => [name, keys.length])).toEqual([
      ['BatchGetItem', 0],
      ['BatchWriteItem', 3],
      ['PutItem', 1],
      ['PutItem', 1],
    ]);
    expect(unitsOf(calls.filter(({ kind }) => kind === 'write'))).toBeLessThanOrEqual(7);
    expect(unitsOf(calls.filter(({ kind }) => kind === 'read'))).toBeLessThanOrEqual(2);
  });

  test('uses at most 9 write units with a reference and a fee', async () => {
    const { calls } = await projected({
      reference: 'order-6735',
      steps: [{ kind: 'succeeded', chargeId: 'ch_1', feeMinor: 5 }],
    });
    expect(unitsOf(calls.filter(({ kind }) => kind === 'write'))).toBeLessThanOrEqual(9);
  });

  test.each<[string, PaymentHistoryPlan['steps']]>([
    [
      'changes the status',
      [
        { kind: 'pending', chargeId: 'ch_1' },
        { kind: 'succeeded', chargeId: 'ch_1', feeMinor: 5 },
      ],
    ],
    [
      'reports a refund',
      [
        { kind: 'succeeded', chargeId: 'ch_1' },
        {
          kind: 'refund',
          chargeId: 'ch_1',
          createdAtMs: 1_772_366_400_000,
          refundId: 're_1',
          amountMinor: 30,
          status: 'succeeded',
        },
      ],
    ],
  ])('uses at most 9 write units if it %s', async (_what, steps) => {
    const reference = 'order-6736';
    const [first, both] = [
      await projected({ reference, steps: steps.slice(0, 1) }),
      await projected({ reference, steps }),
    ];
    const [one, two] = [first, both].map(({ calls }) => unitsOf(calls.filter(({ kind }) => kind === 'write')));
    expect(both.events).toBe(2);
    expect((two ?? 0) - (one ?? 0)).toBeLessThanOrEqual(9);
  });

  test('uses one call that reads two rows if it is redelivered', async () => {
    const { calls, take } = await projected();
    const before = calls.length;
    await take();
    expect(calls.slice(before).map(({ name }) => name)).toEqual(['BatchGetItem']);
    expect(unitsOf(calls.slice(before))).toBeLessThanOrEqual(2);
  });
});

test('concurrent payments never write the same item', async () => {
  const count = whole(200, { slice: 40 });
  const pay = async () => {
    const { tools, calls } = meteredProcess();
    const outcome = await createPayment(tools, typicalPayment(freshKey()));
    expect(outcome.kind).toBe('first');
    return [...new Set(calls.flatMap(({ keys }) => keys))];
  };
  // Limits the concurrency, so that each request gets a response in time on a slow machine.
  const perPayment = await pMap(Array.from({ length: count }), pay, { concurrency: 20 });
  const all = perPayment.flat();
  // Each payment writes one record and two transitions.
  expect(all).toHaveLength(3 * count);
  expect(new Set(all).size).toBe(3 * count);
});
