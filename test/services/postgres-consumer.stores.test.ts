import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { SQSEvent } from 'aws-lambda';
import type { Pool } from 'pg';
import { createOnce, type PostgresOnce } from '../../lambdas/services/once.ts';
import { createEventHandler, EventNames } from '../../package/events.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { PostgresProxy } from '../postgres/postgres-proxy.ts';
import { ADD_POINT, ServiceDatabase } from './service-database.ts';
import { paymentCompleted } from './service-events.ts';

let database: ServiceDatabase;
let pool: Pool;
let once: PostgresOnce;

beforeAll(async () => {
  database = await ServiceDatabase.create();
  pool = database.pool();
  once = createOnce({ postgres: pool, waitSeconds: 900 });
});
afterEach(() => expect(database.handedOut).toBe(0));
afterAll(() => database.close());

const messages = (...events: readonly (readonly [string, string] | 'poison')[]) =>
  ({
    Records: events.map((event, index) => {
      const [id = '', order = ''] = event;
      const inside = { id, type: 'order.completed', data: { object: { id: order } } };
      const detail = { tenant: 't', mode: 'test', occurredAtMs: Date.now(), event: inside };
      return { messageId: String(index), body: event === 'poison' ? '{' : JSON.stringify({ detail }) };
    }),
  }) as SQSEvent;

const NONE = { batchItemFailures: [] };

const consumerOf = (handler: string, member: string, service: PostgresOnce = once) =>
  service.createEventHandler({ handler, handle: async (_event, { tx }) => void (await tx.query(ADD_POINT, [member])) });

describe("a service's consumer on PostgreSQL", () => {
  test('writes once per event, and an unreadable message does not block the other messages', async () => {
    const handle = consumerOf('event-points', 'events');
    const batch = messages(['evt_1', 'o1'], ['evt_1', 'o1'], 'poison', ['evt_2', 'o2']);
    expect(await handle(batch)).toEqual({ batchItemFailures: [{ itemIdentifier: '2' }] });
    await handle(batch);
    expect(await database.pointsOf('events')).toBe(2);
  });

  test('writes once per business key, permanently; two consumers of one event each write once', async () => {
    const key = ({ event }: { readonly event: { readonly data: { readonly object: unknown } } }): string =>
      (event.data.object as { readonly id: string }).id;
    for (const handler of ['order-points', 'order-badges']) {
      const handle = once.createEventHandler({
        handler,
        key,
        handle: async (_event, { tx }) => void (await tx.query(ADD_POINT, [handler])),
      });
      await handle(messages(['evt_1', 'o1'], ['evt_2', 'o1'], ['evt_3', 'o2']));
      await handle(messages(['evt_4', 'o2']));
      expect(await database.pointsOf(handler)).toBe(2);
    }
    const records = `SELECT key FROM payonce_once.record WHERE scope = 'order-points' AND expires_at IS NULL ORDER BY key`;
    expect(await database.administrator.query(records)).toEqual([{ key: 'o1' }, { key: 'o2' }]);
  });

  test('writes once if two deliveries of an event run concurrently', async () => {
    const release = await database.hold('both');
    const handle = consumerOf('both-points', 'both');
    const delivered = Promise.all([handle(messages(['evt_1', 'o1'])), handle(messages(['evt_1', 'o1']))]);
    await database.administrator.awaitSessions('INSERT INTO payonce_once.record', 'Lock');
    await release();
    expect(await delivered).toEqual([NONE, NONE]);
    expect(await database.pointsOf('both')).toBe(1);
  });

  test.each(['lose request', 'lose response'] as const)(
    'writes once if its connection is lost at COMMIT: %s',
    async (fault) => {
      const member = fault.replace(' ', '-');
      const proxy = await PostgresProxy.start(database.url);
      const proxied = database.pool({ connectionString: proxy.url() });
      proxy.plan('COMMIT', fault);
      const handle = consumerOf(member, member, createOnce({ postgres: proxied }));
      expect(await handle(messages(['evt_1', 'o1']))).toEqual(NONE);
      expect(await database.pointsOf(member)).toBe(1);
      await proxied.end();
      await proxy.stop();
    },
  );

  test('fails, and writes nothing, if its handler ignores a failed statement', async () => {
    let runs = 0;
    const handle = once.createEventHandler({
      handler: 'ignored-points',
      handle: async (_event, { tx }) => {
        runs += 1;
        await tx.query(ADD_POINT, ['ignored']);
        if (runs === 1) await tx.query('SELECT 1 / 0').catch(() => undefined);
      },
    });
    expect(await handle(messages(['evt_1', 'o1']))).toEqual({ batchItemFailures: [{ itemIdentifier: '0' }] });
    expect(await database.pointsOf('ignored')).toBeUndefined();
    expect(await handle(messages(['evt_1', 'o1']))).toEqual(NONE);
    expect(await database.pointsOf('ignored')).toBe(1);
  });

  test('receives typed events if it is created with the package’s createEventHandler, and leaves an event of another type in the queue', async () => {
    const seen: string[] = [];
    const handle = createEventHandler({
      postgres: pool,
      events: [EventNames.paymentCompleted],
      handler: 'typed-points',
      key: ({ payment }) => payment.id,
      handle: async ({ payment }, { tx }) => {
        seen.push(payment.id);
        await tx.query(ADD_POINT, ['typed']);
      },
    });
    const body = JSON.stringify({ detail: paymentCompleted('typed') });
    const paid = { Records: [{ messageId: 'm1', body }] } as SQSEvent;
    expect([await handle(paid), await handle(paid)]).toEqual([NONE, NONE]);
    expect((await handle(messages(['evt_1', 'o1']))).batchItemFailures).toHaveLength(1);
    expect([seen, await database.pointsOf('typed')]).toEqual([[paymentIdFor('typed')], 1]);
  });
});
