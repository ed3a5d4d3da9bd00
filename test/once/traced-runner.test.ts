import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { tracedRunner } from '../../lambdas/once/traced-runner.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { createPayment } from '../../lambdas/payments/use/create-payment.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { typicalPayment, typicalProcessor } from '../bench/bench-typical-payment.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';

/** Environment variables of a Lambda function with active tracing. */
const TRACE = '_X_AMZN_TRACE_ID';
const DAEMON = 'AWS_XRAY_DAEMON_ADDRESS';
const ROOT = '1-67891233-abcdef012345678912345678';
const SEGMENT = '53995c3f42cd8ad8';

/** Stands in for the X-Ray daemon. */
const daemon = createSocket('udp4');
const datagrams: string[] = [];
daemon.on('message', (bytes) => void datagrams.push(bytes.toString('utf8')));

const before = { [TRACE]: process.env[TRACE], [DAEMON]: process.env[DAEMON] };

beforeAll(async () => {
  daemon.bind(0, '127.0.0.1');
  await once(daemon, 'listening');
});

afterAll(() => {
  daemon.close();
  Object.assign(process.env, before);
});

beforeEach(() => {
  datagrams.splice(0);
  // The previous test may have changed these variables.
  process.env[DAEMON] = `127.0.0.1:${daemon.address().port}`;
  process.env[TRACE] = `Root=${ROOT};Parent=${SEGMENT};Sampled=1;Lineage=1:2`;
});

async function received(count: number): Promise<readonly Record<string, unknown>[]> {
  while (datagrams.length < count) await once(daemon, 'message');
  return datagrams.map((text) => {
    const [header = '', body = '', ...rest] = text.split('\n');
    expect([JSON.parse(header), rest]).toEqual([{ format: 'json', version: 1 }, []]);
    return JSON.parse(body) as Record<string, unknown>;
  });
}

describe('the spans', () => {
  const clock = new SimulatedClock();
  const database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => clock.nowMs() });
  const pacing = { clock, entropy: countingEntropy() };
  const store = new DynamoDbStore(database.client, TABLES, pacing);
  const views = new DynamoDbViews(database.client, TABLES.views, pacing);
  const runner = tracedRunner(idempotentRunner);
  const replays = new ProcessReplayCache();
  const tools = { ...pacing, store, views, processor: typicalProcessor(), runner, replays, digest: systemDigest };
  const request = typicalPayment('traced');

  test('are named claim, call and commit, contain the payment id, and belong to the segment of the execution', async () => {
    expect(await createPayment(tools, request)).toMatchObject({ kind: 'first' });
    const spans = await received(3);
    expect(spans.map(({ name }) => name)).toEqual(['claim', 'call', 'commit']);
    for (const span of spans) {
      expect(span).toMatchObject({ type: 'subsegment', trace_id: ROOT, parent_id: SEGMENT });
      expect(span).toMatchObject({ annotations: { operation: request.paymentId } });
      expect(span['id']).toMatch(/^[0-9a-f]{16}$/);
      expect(span['end_time']).toBeGreaterThanOrEqual(span['start_time'] as number);
      expect(span).not.toHaveProperty('fault');
    }
    expect(new Set(spans.map(({ id }) => id)).size).toBe(3);
  });

  test('are also sent when a consumer handles a payment event', async () => {
    const chain = await store.listTransitions(request.paymentId, { afterSequence: 0, limit: 10 });
    const [event] = eventsOf(systemDigest, chain);
    if (event === undefined) throw new Error('the payment has no event');
    await projectEvent(tools, event);
    expect((await received(3)).map(({ name }) => name)).toEqual(['claim', 'call', 'commit']);
  });

  test('mark a failing step as a fault; the claim is released, and the caller receives the error', async () => {
    const released: number[] = [];
    const steps = {
      claim: async () => ({ kind: 'claimed', held: 1 }) as const,
      execute: () => Promise.reject(new Error('the processor is unavailable')),
      commit: async () => 'never',
      release: async (held: number) => void released.push(held),
    };
    await expect(runner.run(storedOperationId(request.paymentId), steps)).rejects.toThrow(
      'the processor is unavailable',
    );
    const expected = [
      ['claim', undefined],
      ['call', true],
    ];
    expect((await received(2)).map(({ name, fault }) => [name, fault])).toEqual(expected);
    expect(released).toEqual([1]);
  });

  test.each([
    ['127.0.0.1:99999', 'impossible'],
    ['no address', 'nowhere'],
  ])('do not affect the payment if they cannot be sent to the invalid address "%s"', async (address, name) => {
    process.env[DAEMON] = address;
    const result = await createPayment(tools, typicalPayment(name));
    expect(result).toMatchObject({ kind: 'first' });
    expect(datagrams).toEqual([]);
  });

  test('are not sent for an execution without sampling', async () => {
    process.env[TRACE] = `Root=${ROOT};Parent=${SEGMENT};Sampled=0`;
    expect(await createPayment(tools, typicalPayment('unsampled'))).toMatchObject({ kind: 'first' });
    process.env[TRACE] = `Root=${ROOT};Parent=${SEGMENT};Sampled=1`;
    const sampled = typicalPayment('sampled');
    await createPayment(tools, sampled);
    const operations = (await received(3)).map(({ annotations }) => annotations);
    expect(operations).toEqual([1, 2, 3].map(() => ({ operation: sampled.paymentId })));
  });
});
