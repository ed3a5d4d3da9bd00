import type { GetCommand } from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, test } from '@jest/globals';
import type { EventBridgeEvent, MSKEvent, SQSEvent } from 'aws-lambda';
import { TerminalError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { eventHandler } from '../../lambdas/services/http/event-deliveries.ts';
import { createOnce } from '../../lambdas/services/once.ts';
import { consumeInTable, consumeInTransaction, type ParkedMessage } from '../../lambdas/services/use/consume-event.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const DAY_MS = 24 * 60 * 60_000;

/** The table never contains a record. `written` gets the first four characters of the id of each recorded operation. */
const toolsOf = (written: string[], clock = new SimulatedClock()) => ({
  records: {
    isRecorded: async () => false,
    recordEffect: async ({ operationId }: { readonly operationId: string }) => {
      written.push(operationId.slice(0, 4));
      return 'recorded' as const;
    },
  },
  runner: idempotentRunner,
  clock,
  entropy: countingEntropy(),
  digest: systemDigest,
});

test('a service’s consumer without a business key refuses an event that is older than the retention of its records', async () => {
  const clock = new SimulatedClock();
  const written: string[] = [];
  const tools = toolsOf(written, clock);
  const event = { id: 'evt_1', type: 'order.completed', data: { object: { id: 'o1' } } };
  const detail = { tenant: 't', mode: 'test', occurredAtMs: clock.nowMs(), event };
  const batch = { Records: [{ messageId: 'm1', body: JSON.stringify({ detail }) }] } as SQSEvent;
  const failed = async (key?: () => string) => {
    const consumer = { handler: 'points', handle: async () => [], ...(key === undefined ? {} : { key }) };
    return (await eventHandler((each) => consumeInTable(tools, consumer, each))(batch)).batchItemFailures.length;
  };
  clock.advance(28 * DAY_MS);
  expect(await failed()).toBe(0);
  clock.advance(2 * DAY_MS);
  expect(await failed()).toBe(1);
  expect(await failed(() => 'o1')).toBe(0);
  expect(written).toHaveLength(2);
});

describe.each<[string, () => string]>([
  ['empty', () => ''],
  ['undefined', () => undefined as never],
])('an event whose business key is %s', (_what, key) => {
  const event = { id: 'evt_1', type: 'order.completed', data: { object: {} } };
  const detail = { tenant: 't', mode: 'test' as const, occurredAtMs: 1, event };
  const text = JSON.stringify(detail);
  const reason = 'the business key of points is empty for evt_1';

  test('fails over SQS and EventBridge, is parked over Kafka and NATS, and has no effect', async () => {
    const [written, parked]: [string[], ParkedMessage[]] = [[], []];
    const consumer = { handler: 'points', key, handle: async () => [] };
    const handle = eventHandler(
      (each) => consumeInTable(toolsOf(written), consumer, each),
      async (message) => void parked.push(message),
    );
    const failures = [{ itemIdentifier: 'm1' }];
    expect(await handle({ Records: [{ messageId: 'm1', body: text }] } as SQSEvent)).toEqual({
      batchItemFailures: failures,
    });
    await expect(handle({ detail } as unknown as EventBridgeEvent<string, unknown>)).rejects.toThrow(reason);
    const value = Buffer.from(text).toString('base64');
    await handle({ eventSource: 'aws:kafka', records: { 'payments-0': [{ value }] } } as unknown as MSKEvent);
    let acknowledged = 0;
    await handle({ data: Buffer.from(text), ack: () => void (acknowledged += 1), nak: () => undefined });
    expect([acknowledged, written]).toEqual([1, []]);
    expect(parked).toEqual([
      { transport: 'kafka', text, reason },
      { transport: 'nats', text, reason },
    ]);
  });

  test('begins no transaction in PostgreSQL', async () => {
    const transactions = {
      run: () => Promise.reject(new Error('a transaction was begun')),
      readRequest: async () => undefined,
      deleteExpired: async () => 0,
    };
    const consumer = { handler: 'points', key, handle: async () => undefined };
    const consumed = consumeInTransaction({ ...toolsOf([]), transactions }, consumer, detail);
    await expect(consumed).rejects.toMatchObject({ code: 'business_key_empty' });
  });
});

test('an event that the database refuses, for example because its table is missing, is redelivered and not parked', async () => {
  const refused = new TerminalError('store_refused', 'the database refused a statement (SQLSTATE 42P01)');
  const parked: ParkedMessage[] = [];
  const handle = eventHandler(
    () => Promise.reject(refused),
    async (message) => void parked.push(message),
  );
  const text = JSON.stringify({
    tenant: 't',
    mode: 'test',
    occurredAtMs: 1,
    event: { id: 'evt_1', type: 'order.completed', data: { object: {} } },
  });
  const records = { 'payments-0': [{ value: Buffer.from(text).toString('base64') }] };
  const batch = handle({ eventSource: 'aws:kafka', records } as unknown as MSKEvent);
  await expect(batch).rejects.toMatchObject({ errors: [refused] });
  const settled: string[] = [];
  await handle({
    data: Buffer.from(text),
    ack: () => void settled.push('acknowledged'),
    nak: () => void settled.push('redelivered'),
  });
  expect([settled, parked]).toEqual([['redelivered'], []]);
});

test('a consumed event is recognized even if the DynamoDB client returns numbers as wrapped values', async () => {
  const row = { status: 'COMPLETED', owner: 'o', recordedAtMs: 1 };
  const client = {
    send: async ({ input: { Key, ProjectionExpression } }: GetCommand) => {
      const item = { ...Key, ...(ProjectionExpression === undefined ? row : {}) };
      return { Item: unmarshall(marshall(item), { wrapNumbers: true }) };
    },
  };
  const handle = createOnce({ table: 'points', client: client as never }).createEventHandler({
    handler: 'points',
    handle: () => Promise.reject(new Error('the event was consumed again')),
  });
  const event = { id: 'evt_1', type: 'order.completed', data: { object: {} } };
  const body = JSON.stringify({ tenant: 't', mode: 'test', occurredAtMs: Date.now(), event });
  expect(await handle({ Records: [{ messageId: 'm1', body }] } as SQSEvent)).toEqual({ batchItemFailures: [] });
});

test('a Kafka record without a value is parked, and the other records of its batch are consumed', async () => {
  const record = (offset: number, id?: string) => {
    const event = { id, type: 'order.completed', data: { object: { id } } };
    const text = JSON.stringify({ tenant: 't', mode: 'test', occurredAtMs: 1, event });
    const value = id === undefined ? {} : { value: Buffer.from(text).toString('base64') };
    return { topic: 'payments', partition: 0, offset, ...value };
  };
  const records = { 'payments-0': [record(1, 'evt_1'), record(2), record(3, 'evt_3')] };
  const consumed: string[] = [];
  const parked: ParkedMessage[] = [];
  const handle = eventHandler(
    async ({ event }) => void consumed.push(event.id),
    async (message) => void parked.push(message),
  );
  await handle({ eventSource: 'aws:kafka', records } as unknown as MSKEvent);
  expect(consumed).toEqual(['evt_1', 'evt_3']);
  expect(parked).toEqual([{ transport: 'kafka', text: '', reason: 'the message is not a Payonce event' }]);
});
