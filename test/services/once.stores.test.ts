/** Tests the guarantee "team services". */
import { setTimeout as sleep } from 'node:timers/promises';
import { GetCommand, PutCommand, TransactWriteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { SQSEvent } from 'aws-lambda';
import { Hono } from 'hono';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { createOnce, type Once, type OnceVariables } from '../../lambdas/services/once.ts';
import { dynamoDbClient } from '../support/local-aws.ts';
import { gatewayEvent } from '../world/gateway-event.ts';
import { ownTable } from './own-tables.ts';

let table = '';
let once: Once;
beforeAll(async () => {
  table = await ownTable();
  once = createOnce({ table, client: documentClient(dynamoDbClient()) });
});

const add = (pk: string) => ({
  Update: {
    TableName: table,
    Key: { pk },
    UpdateExpression: 'ADD points :one',
    ExpressionAttributeValues: { ':one': 1 },
  },
});

async function totalOf(pk: string): Promise<number> {
  const client = documentClient(dynamoDbClient());
  const { Item } = await client.send(new GetCommand({ TableName: table, Key: { pk }, ConsistentRead: true }));
  return Number(Item?.['points'] ?? 0);
}

/** Responds with each status in turn, and then always with the last one. For the status 0, the handler throws. */
function routeOf(pk: string, statuses: readonly number[] = [201]) {
  const left = [...statuses];
  const app = new Hono<{ Variables: OnceVariables }>();
  app.onError(() => new Response('failed', { status: 500 }));
  app.post('/points', once.idempotent({ scope: 'add-points', caller: (c) => c.req.header('x-caller') ?? '' }), (c) => {
    c.get('effect').write(add(pk));
    const status = left.length > 1 ? left.shift() : left[0];
    if (status === 0) throw new Error('the handler failed');
    return new Response(JSON.stringify({ pk }), { status: status ?? 201, headers: { location: `/points/${pk}` } });
  });
  return (headers: Record<string, string>, body: string = '{"a":1,"b":2}') =>
    app.request('/points', { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
}

describe('a route of a service', () => {
  test('refuses a missing key, an invalid key, or ambiguous JSON with 400, and writes nothing', async () => {
    const post = routeOf('bad');
    for (const [headers, body, code] of [
      [{}, '{}', 'missing_idempotency_key'],
      [{ 'idempotency-key': 'a b' }, '{}', 'invalid_idempotency_key'],
      [{ 'idempotency-key': 'bad' }, '{"a":1,"a":2}', 'invalid_json'],
    ] as const) {
      const answer = await post(headers, body);
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, code]);
    }
    expect(await totalOf('bad')).toBe(0);
  });

  test('takes effect once, and replays the response and headers for a body with reordered fields', async () => {
    const post = routeOf('once');
    const first = await post({ 'idempotency-key': 'k1' });
    const second = await post({ 'idempotency-key': '"k1"' }, '{"b":2, "a":1}');
    for (const answer of [first, second]) {
      expect([answer.status, await answer.text()]).toEqual([201, '{"pk":"once"}']);
      expect(answer.headers.get('location')).toBe('/points/once');
    }
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect((await post({ 'idempotency-key': 'k1' }, '{"a":9}')).status).toBe(422);
    expect(await totalOf('once')).toBe(1);
  });

  test('releases its key if its handler fails during a renewal of the lease', async () => {
    const client = documentClient(dynamoDbClient());
    const send = client.send.bind(client) as (command: unknown) => Promise<unknown>;
    let renewals = 0;
    const released = Promise.withResolvers<void>();
    const renewed = Promise.withResolvers<void>();
    // Delays the renewal, which is a transaction with one update, until the claim is released, but at most half a
    // second. A correct service releases the claim only after the renewal.
    const late = async (command: unknown): Promise<unknown> => {
      const items = command instanceof TransactWriteCommand ? (command.input.TransactItems ?? []) : [];
      if (items.length !== 1 || items[0]?.Update === undefined || renewals++ > 0)
        return send(command).finally(() => (runs > 0 ? released.resolve() : undefined));
      await Promise.race([released.promise, sleep(500)]);
      return send(command).finally(renewed.resolve);
    };
    Object.assign(client, { send: late });
    const slow = createOnce({ table, client, leaseSeconds: 3_600 });
    const app = new Hono<{ Variables: OnceVariables }>();
    let runs = 0;
    app.post('/slow', slow.idempotent({ scope: 'slow' }), async (c) => {
      runs += 1;
      // Starts a renewal of the lease without any writes. The handler returns 503 before the renewal has ended.
      if (runs === 1)
        void c
          .get('effect')
          .writeNow()
          .catch(() => undefined);
      return c.json({ runs }, runs === 1 ? 503 : 201);
    });
    const post = () => app.request('/slow', { method: 'POST', headers: { 'idempotency-key': 'slow' } });
    expect((await post()).status).toBe(503);
    await renewed.promise;
    expect((await post()).status).toBe(201);
    expect([runs, renewals]).toEqual([2, 1]);
  });

  test('separates the keys of its callers', async () => {
    const post = routeOf('callers');
    for (const caller of ['a', 'b']) {
      expect(
        (await post({ 'idempotency-key': 'k', 'x-caller': caller })).headers.get('idempotency-replayed'),
      ).toBeNull();
    }
    expect(await totalOf('callers')).toBe(2);
  });

  test.each([503, 429, 0])(
    'commits nothing when it returns %d (0: its handler throws), and runs again for the next request with the key',
    async (status) => {
      const pk = `again-${status}`;
      const post = routeOf(pk, [status, 200]);
      expect((await post({ 'idempotency-key': pk })).status).toBe(status === 0 ? 500 : status);
      expect(await totalOf(pk)).toBe(0);
      expect((await post({ 'idempotency-key': pk })).status).toBe(200);
      expect(await totalOf(pk)).toBe(1);
    },
  );

  test('writes nothing if a write condition fails, and runs again for the next request', async () => {
    const app = new Hono<{ Variables: OnceVariables }>();
    let version = 1;
    app.post('/row', once.idempotent({ scope: 'change-row' }), (c) => {
      c.get('effect').write(
        {
          Put: {
            TableName: table,
            Item: { pk: 'row' },
            ConditionExpression: `attribute_${version === 1 ? '' : 'not_'}exists(pk)`,
          },
        },
        add('row-count'),
      );
      return c.body(null, 204);
    });
    const send = () => app.request('/row', { method: 'POST', headers: { 'idempotency-key': 'row' } });
    expect((await send()).status).toBe(503);
    expect(await totalOf('row-count')).toBe(0);
    version = 2;
    expect((await send()).status).toBe(204);
    expect((await send()).status).toBe(204);
    expect(await totalOf('row-count')).toBe(1);
  });

  test('keeps the record of a key for the retention of the route’s scope, and then refuses the key', async () => {
    const kept = createOnce({
      table,
      client: documentClient(dynamoDbClient()),
      retentionHours: { 'short-lived': 2, default: 5 },
    });
    const records: Record<string, unknown>[] = [];
    const client = documentClient(dynamoDbClient());
    for (const scope of ['short-lived', 'other-scope']) {
      const app = new Hono<{ Variables: OnceVariables }>();
      let operationId = '';
      app.post('/', kept.idempotent({ scope }), (c) => {
        operationId = c.get('effect').operationId;
        return c.text('done');
      });
      const send = () => app.request('/', { method: 'POST', headers: { 'idempotency-key': scope } });
      await send();
      const Key = { pk: `OP#${operationId}` };
      const { Item = {} } = await client.send(new GetCommand({ TableName: table, Key, ConsistentRead: true }));
      records.push(Item);
      const past = { ':past': 1 };
      const UpdateExpression = 'SET expiresAt = :past';
      await client.send(
        new UpdateCommand({ TableName: table, Key, UpdateExpression, ExpressionAttributeValues: past }),
      );
      // This instance of the service library does not have the response in its cache.
      const cold = new Hono<{ Variables: OnceVariables }>();
      const other = createOnce({ table, client });
      cold.post('/', other.idempotent({ scope }), (c) => c.text('done'));
      const late = await cold.request('/', { method: 'POST', headers: { 'idempotency-key': scope } });
      expect([late.status, ((await late.json()) as { code: string }).code]).toEqual([409, 'idempotency_key_expired']);
    }
    const hours = records.map(({ expiresAt }) => (Number(expiresAt) - Date.now() / 1000) / 3600);
    expect(hours[0]).toBeGreaterThan(1.9);
    expect(hours[0]).toBeLessThan(2.3);
    expect(hours[1]).toBeGreaterThan(4.9);
    expect(hours[1]).toBeLessThan(5.6);
  });

  test('refuses invalid options', () => {
    expect(() => once.idempotent({ scope: 'Add Points' })).toThrow('scope "Add Points" must be 2 to 50');
    expect(() => createOnce({ table, leaseSeconds: 0 })).toThrow('leaseSeconds 0 must be 1 to 3600');
    expect(() => createOnce({ table, retentionHours: { 'add-points': 0 } })).toThrow('retentionHours.add-points 0');
  });
});

test('a Lambda function of a service takes effect once', async () => {
  const handler = once.idempotentLambda({ scope: 'lambda-points' }, async (_event, effect) => {
    effect.write(add('lambda'));
    return { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' };
  });
  const headers = { 'Idempotency-Key': 'l1', 'Content-Type': 'application/json' };
  const event = { ...gatewayEvent('POST', '/points', headers), body: '{"a":1}' };
  expect(await handler(event)).toMatchObject({ statusCode: 200 });
  expect(await handler(event)).toMatchObject({ statusCode: 200, headers: { 'Idempotency-Replayed': 'true' } });
  expect(await handler({ ...event, body: '{"a":2}' })).toMatchObject({ statusCode: 422 });
  expect(await totalOf('lambda')).toBe(1);
});

describe('a consumer of a service', () => {
  const messages = (...events: readonly (readonly [string, string] | 'poison')[]) =>
    ({
      Records: events.map((event, index) => {
        const [id = '', order = ''] = event;
        const inside = { id, type: 'order.completed', data: { object: { id: order } } };
        const detail = { tenant: 't', mode: 'test', occurredAtMs: Date.now(), event: inside };
        return { messageId: String(index), body: event === 'poison' ? '{' : JSON.stringify({ detail }) };
      }),
    }) as SQSEvent;

  test('writes once per event, and an unreadable message does not block the other messages', async () => {
    const handle = once.createEventHandler({ handler: 'event-points', handle: async () => [add('events')] });
    const batch = messages(['evt_1', 'o1'], ['evt_1', 'o1'], 'poison', ['evt_2', 'o2']);
    expect(await handle(batch)).toEqual({ batchItemFailures: [{ itemIdentifier: '2' }] });
    await handle(batch);
    expect(await totalOf('events')).toBe(2);
  });

  test('writes once per business key, regardless of the number of events', async () => {
    const handle = once.createEventHandler({
      handler: 'order-points',
      key: ({ event }) => (event.data.object as { id: string }).id,
      handle: async () => [add('orders')],
    });
    await handle(messages(['evt_1', 'o1'], ['evt_2', 'o1'], ['evt_3', 'o2']));
    expect(await totalOf('orders')).toBe(2);
  });

  test('calls its handler again if a row changes between the handler’s read and its write', async () => {
    const client = documentClient(dynamoDbClient());
    let reads = 0;
    const handle = once.createEventHandler({
      handler: 'changing-row',
      handle: async () => {
        reads += 1;
        if (reads === 1) await client.send(new PutCommand({ TableName: table, Item: { pk: 'changing', points: 5 } }));
        const ConditionExpression = reads === 1 ? 'attribute_not_exists(pk)' : 'attribute_exists(pk)';
        return [{ Update: { ...add('changing').Update, ConditionExpression } }];
      },
    });
    expect(await handle(messages(['evt_9', 'o9']))).toEqual({ batchItemFailures: [] });
    expect([reads, await totalOf('changing')]).toEqual([2, 6]);
  });
});
