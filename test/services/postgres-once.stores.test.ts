/** Tests the guarantee "team services". */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Hono } from 'hono';
import type { Pool } from 'pg';
import { signJobCredential } from '../../lambdas/jobs/job-credential.ts';
import {
  admitJobs,
  createOnce,
  type JobVariables,
  type PostgresEffect,
  type PostgresOnce,
} from '../../lambdas/services/once.ts';
import { PostgresProxy } from '../postgres/postgres-proxy.ts';
import { until } from '../support/until.ts';
import { gatewayEvent } from '../world/gateway-event.ts';
import { ADD_POINT, ServiceDatabase } from './service-database.ts';

const OTHER_SCHEMA = 'other_once';
/** Longer than any wait in a test. */
const LONG_WAIT_SECONDS = 900;
let database: ServiceDatabase;
let pool: Pool;
let once: PostgresOnce;

beforeAll(async () => {
  database = await ServiceDatabase.create(['payonce_once', OTHER_SCHEMA]);
  pool = database.pool();
  once = createOnce({ postgres: pool, waitSeconds: LONG_WAIT_SECONDS });
});
afterEach(() => expect(database.handedOut).toBe(0));
afterAll(() => database.close());

type Work = (effect: PostgresEffect, member: string) => Promise<Response>;

const addPoint: Work = async ({ tx }, member) => {
  await tx.query(ADD_POINT, [member]);
  return Response.json({ member }, { status: 201, headers: { location: `/points/${member}` } });
};

function routeOf(member: string, work: Work = addPoint, service: PostgresOnce = once) {
  const app = new Hono();
  app.onError(({ message }) => new Response(message, { status: 500 }));
  const route = {
    runs: 0,
    post: async (headers: Record<string, string>, body = '{"a":1,"b":2}') => {
      const sent = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
      const answer = await app.request('/points', sent);
      const isReplay = answer.headers.get('idempotency-replayed') === 'true';
      return { status: answer.status, text: await answer.text(), headers: answer.headers, isReplay };
    },
  };
  const options = {
    scope: 'add-points',
    caller: (c: { req: { header(name: string): string | undefined } }) => c.req.header('x-caller') ?? '',
  };
  app.post(
    '/points',
    service.idempotent(options, async (_c, effect) => {
      route.runs += 1;
      return work(effect, member);
    }),
  );
  return route;
}

const codeOf = ({ text }: { readonly text: string }): unknown => (JSON.parse(text) as { readonly code: string }).code;

/** The duplicates wait in the database for the first request's row. */
async function awaitBlocked(count: number): Promise<void> {
  await until(async () => {
    const rows = await database.administrator.query(
      `SELECT lock.pid FROM pg_locks AS lock JOIN pg_stat_activity AS session USING (pid)
       WHERE NOT lock.granted AND session.datname = current_database() AND session.query LIKE 'INSERT INTO payonce_once.record%'`,
    );
    return rows.length === count || undefined;
  });
}

describe("a service's route on PostgreSQL", () => {
  test('takes effect once, and replays the response and headers for a body with reordered fields', async () => {
    const { post } = routeOf('once');
    const first = await post({ 'idempotency-key': 'k1' });
    const second = await post({ 'idempotency-key': '"k1"' }, '{"b":2, "a":1}');
    for (const answer of [first, second]) {
      expect([answer.status, answer.text]).toEqual([201, '{"member":"once"}']);
      expect(answer.headers.get('location')).toBe('/points/once');
    }
    expect([first.isReplay, second.isReplay]).toEqual([false, true]);
    expect((await post({ 'idempotency-key': 'k1' }, '{"a":9}')).status).toBe(422);
    expect((await post({})).status).toBe(400);
    expect(await database.pointsOf('once')).toBe(1);
  });

  test('makes 19 of 20 concurrent copies of a request wait in the database, and replays the response to them', async () => {
    const route = routeOf('crowd');
    const release = await database.hold('crowd');
    const sent = Array.from({ length: 20 }, () => route.post({ 'idempotency-key': 'crowd' }));
    await awaitBlocked(19);
    await release();
    const answers = await Promise.all(sent);
    expect(answers.filter(({ isReplay }) => isReplay)).toHaveLength(19);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set(['201 {"member":"crowd"}']),
    );
    expect([route.runs, await database.pointsOf('crowd')]).toEqual([1, 1]);
  });

  test('runs a waiting duplicate when the first request is rolled back', async () => {
    const statuses = [503, 201];
    const route = routeOf('second', async (effect, member) => {
      await addPoint(effect, member);
      return new Response(null, { status: statuses.shift() ?? 500 });
    });
    const release = await database.hold('second');
    const sent = [route.post({ 'idempotency-key': 'second' }), route.post({ 'idempotency-key': 'second' })];
    await awaitBlocked(1);
    await release();
    const answers = await Promise.all(sent);
    expect(new Set(answers.map(({ status, isReplay }) => `${status} ${isReplay}`))).toEqual(
      new Set(['201 false', '503 false']),
    );
    expect(await database.pointsOf('second')).toBe(1);
  });

  test('returns 409 to a duplicate whose maximum wait is over', async () => {
    const impatient = createOnce({ postgres: pool, waitSeconds: 1 });
    const first = routeOf('slow');
    const release = await database.hold('slow');
    const sent = first.post({ 'idempotency-key': 'slow' });
    await database.administrator.awaitSessions('INSERT INTO points', 'Lock');
    const second = routeOf('slow', addPoint, impatient);
    const refused = await second.post({ 'idempotency-key': 'slow' });
    expect([refused.status, codeOf(refused), refused.headers.get('retry-after')]).toEqual([
      409,
      'idempotency_key_in_progress',
      '1',
    ]);
    await release();
    expect((await sent).status).toBe(201);
    expect(await second.post({ 'idempotency-key': 'slow' })).toMatchObject({ status: 201, isReplay: true });
    expect([first.runs, second.runs, await database.pointsOf('slow')]).toEqual([1, 0, 1]);
  });

  test.each([
    { fault: 'lose request' as const, runs: 2 },
    { fault: 'lose response' as const, runs: 1 },
  ])('takes effect once if its connection is lost at COMMIT: $fault', async ({ fault, runs }) => {
    const member = fault.replace(' ', '-');
    const proxy = await PostgresProxy.start(database.url);
    const proxied = database.pool({ connectionString: proxy.url() });
    const route = routeOf(member, addPoint, createOnce({ postgres: proxied }));
    proxy.plan('COMMIT', fault);
    const first = await route.post({ 'idempotency-key': member });
    expect([first.status, first.isReplay, route.runs]).toEqual([201, false, runs]);
    expect(await route.post({ 'idempotency-key': member })).toMatchObject({ text: first.text, isReplay: true });
    expect(await database.pointsOf(member)).toBe(1);
    await proxied.end();
    await proxy.stop();
  });

  test('takes effect once if its connection is lost during the handler', async () => {
    const route = routeOf('ended', async (effect, member) => {
      const answer = await addPoint(effect, member);
      if (route.runs === 1) await effect.tx.query('SELECT pg_terminate_backend(pg_backend_pid())');
      return answer;
    });
    expect((await route.post({ 'idempotency-key': 'ended' })).status).toBe(201);
    expect([route.runs, await database.pointsOf('ended')]).toEqual([2, 1]);
  });

  test('does not wait for a handler that hangs after its connection was lost, and returns the connection to the pool', async () => {
    const single = database.pool({ max: 1 });
    const hanging = Promise.withResolvers<unknown>();
    const work: Work = async (effect, member) => {
      const answer = await addPoint(effect, member);
      if (route.runs > 1) return answer;
      const { rows } = await effect.tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      hanging.resolve(rows[0]?.pid);
      // Never resolves, because this handler holds the pool's only connection.
      await single.query('SELECT 1');
      return new Response('late', { status: 400 });
    };
    const route = routeOf('hangs', work, createOnce({ postgres: single }));
    const sent = route.post({ 'idempotency-key': 'hangs' });
    await database.administrator.query('SELECT pg_terminate_backend($1)', [await hanging.promise]);
    expect((await sent).status).toBe(201);
    expect([route.runs, await database.pointsOf('hangs')]).toEqual([2, 1]);
  });

  test.each([503, 429, 0])(
    'commits nothing when it returns %d (0: its handler throws), and runs again for the next request',
    async (status) => {
      const member = `again-${status}`;
      const route = routeOf(member, async (effect) => {
        const answer = await addPoint(effect, member);
        if (route.runs > 1) return answer;
        if (status === 0) throw new Error('the handler failed');
        return new Response('later', { status });
      });
      expect((await route.post({ 'idempotency-key': member })).status).toBe(status === 0 ? 500 : status);
      expect(await database.pointsOf(member)).toBeUndefined();
      expect((await route.post({ 'idempotency-key': member })).status).toBe(201);
      expect(await database.pointsOf(member)).toBe(1);
    },
  );

  test('commits nothing if the handler ignores a failed statement', async () => {
    const route = routeOf('ignored', async (effect, member) => {
      const answer = await addPoint(effect, member);
      if (route.runs === 1) await effect.tx.query('SELECT 1 / 0').catch(() => undefined);
      return answer;
    });
    expect((await route.post({ 'idempotency-key': 'ignored' })).status).toBe(500);
    expect(await database.pointsOf('ignored')).toBeUndefined();
    expect((await route.post({ 'idempotency-key': 'ignored' })).status).toBe(201);
  });

  test('commits nothing from a handler that continues after it has failed', async () => {
    const rest: Promise<unknown>[] = [];
    const route = routeOf('part', async ({ tx }) => {
      const query = tx.query.bind(tx) as (text: string, values?: readonly unknown[]) => Promise<unknown>;
      const failing = query('SELECT 1').then(() => Promise.reject(new Error('the handler failed')));
      rest.push(query('SELECT 1').then(() => query(ADD_POINT, ['part'])));
      await Promise.all([failing, ...rest]);
      return new Response();
    });
    expect(await route.post({ 'idempotency-key': 'part' })).toMatchObject({ status: 500, text: 'the handler failed' });
    expect(await Promise.allSettled(rest)).toMatchObject([{ status: 'rejected', reason: { message: /has ended/ } }]);
    expect(await database.pointsOf('part')).toBeUndefined();
  });

  test("throws the handler's own errors unchanged", async () => {
    const { post } = routeOf('own', async ({ tx }) => {
      await tx.query("INSERT INTO points VALUES ('own', 1), ('own', 1)");
      return new Response();
    });
    const answer = await post({ 'idempotency-key': 'own' });
    expect([answer.status, answer.text]).toEqual([500, expect.stringContaining('points_pkey')]);
  });

  const CONTROL = ['BEGIN', ' commit', 'ROLLBACK', 'end', 'START TRANSACTION', 'PREPARE TRANSACTION $$a$$'];
  test.each([...CONTROL, '/* * */ COMMIT', '-- done\n;COMMIT'])(
    'refuses the statement %j in its handler',
    async (statement) => {
      const { post } = routeOf('control', async (effect, member) => {
        const answer = await addPoint(effect, member);
        await effect.tx.query({ text: statement });
        return answer;
      });
      const answer = await post({ 'idempotency-key': `control ${statement}`.replaceAll(/\W/g, '-') });
      expect([answer.status, answer.text]).toEqual([500, expect.stringContaining('use SAVEPOINT')]);
      expect(await database.pointsOf('control')).toBeUndefined();
    },
  );

  test('allows savepoints, but no statement after the handler has returned', async () => {
    const kept: PostgresEffect[] = [];
    const { post } = routeOf('savepoint', async (effect, member) => {
      kept.push(effect);
      await effect.tx.query('SAVEPOINT a');
      await effect.tx.query('SELECT 1 / 0').catch(() => effect.tx.query('ROLLBACK TO a'));
      return addPoint(effect, member);
    });
    expect((await post({ 'idempotency-key': 'savepoint' })).status).toBe(201);
    expect(() => kept[0]?.tx.query(ADD_POINT, ['savepoint'])).toThrow('has ended');
    expect(await database.pointsOf('savepoint')).toBe(1);
  });

  test('repeats its transaction after a conflict if the pool sets a stricter isolation level', async () => {
    const strict = database.pool({ options: '-c default_transaction_isolation=repeatable\\ read' });
    const service = createOnce({ postgres: strict, waitSeconds: LONG_WAIT_SECONDS });
    const route = routeOf('strict', addPoint, service);
    const release = await database.hold('strict');
    const sent = ['s1', 's2', 's2'].map((key) => route.post({ 'idempotency-key': key }));
    await awaitBlocked(1);
    await database.administrator.awaitSessions('INSERT INTO points', 'Lock', 2);
    await release();
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await database.pointsOf('strict')).toBe(2);
    expect(route.runs).toBeGreaterThan(2);
  });

  test('stores a response of 256 KiB, and commits nothing for a larger response', async () => {
    const bytes = 256 * 1024;
    const { post } = routeOf('large', async (effect, member) => {
      await addPoint(effect, member);
      return new Response('x'.repeat(bytes));
    });
    const { post: tooLarge } = routeOf('too-large', async (effect, member) => {
      await addPoint(effect, member);
      return new Response('x'.repeat(bytes + 1));
    });
    await post({ 'idempotency-key': 'large' });
    expect(await post({ 'idempotency-key': 'large' })).toMatchObject({ text: 'x'.repeat(bytes), isReplay: true });
    const refused = await tooLarge({ 'idempotency-key': 'too-large' });
    expect([refused.status, refused.text]).toEqual([500, expect.stringContaining('the maximum is 262144')]);
    expect([await database.pointsOf('large'), await database.pointsOf('too-large')]).toEqual([1, undefined]);
  });

  test('separates the keys of its callers, and of services with separate schemas', async () => {
    const route = routeOf('separate');
    const other = routeOf('separate', addPoint, createOnce({ postgres: pool, schema: OTHER_SCHEMA }));
    const key = { 'idempotency-key': 'k' };
    const answers = [
      await route.post({ ...key, 'x-caller': 'a' }),
      await route.post({ ...key, 'x-caller': 'b' }),
      await other.post({ ...key, 'x-caller': 'a' }),
    ];
    expect(answers.map(({ isReplay }) => isReplay)).toEqual([false, false, false]);
    expect(await database.pointsOf('separate')).toBe(3);
  });

  test('keeps the record of a key for the retention of the route’s scope, then refuses the key until the record is deleted', async () => {
    const retentionHours = { 'short-lived': 2, default: 5 };
    const service = createOnce({ postgres: pool, schema: OTHER_SCHEMA, retentionHours });
    const app = new Hono();
    for (const scope of ['short-lived', 'other-scope'])
      app.post(
        `/${scope}`,
        service.idempotent({ scope }, async (_c, { tx }) => {
          await tx.query(ADD_POINT, [scope]);
          return new Response('done');
        }),
      );
    const send = async (scope: string) => {
      const answer = await app.request(`/${scope}`, { method: 'POST', headers: { 'idempotency-key': 'r' } });
      return { status: answer.status, text: await answer.text() };
    };
    const hours = async (scope: string) => {
      const text = `SELECT extract(epoch FROM expires_at - recorded_at) / 3600 AS hours, key FROM ${OTHER_SCHEMA}.record WHERE scope = $1`;
      return database.administrator.query(text, [scope]);
    };
    await send('short-lived');
    await send('other-scope');
    const [[short], [other]] = [await hours('short-lived'), await hours('other-scope')];
    expect([short?.['key'], Math.floor(Number(short?.['hours'])), Math.floor(Number(other?.['hours']))]).toEqual([
      'r',
      2,
      5,
    ]);
    expect(await service.deleteExpired()).toBe(0);

    await database.administrator.query(
      `UPDATE ${OTHER_SCHEMA}.record SET expires_at = '2020-01-01' WHERE scope = 'short-lived'`,
    );
    const expired = await send('short-lived');
    expect([expired.status, codeOf(expired)]).toEqual([409, 'idempotency_key_expired']);
    expect(await service.deleteExpired()).toBe(1);
    expect(await send('short-lived')).toEqual({ status: 200, text: 'done' });
    expect(await send('other-scope')).toEqual({ status: 200, text: 'done' });
    expect([await database.pointsOf('short-lived'), await database.pointsOf('other-scope')]).toEqual([2, 1]);
  });

  test('keeps an expired record for an hour, because the clock that wrote its expiry may be slow', async () => {
    const route = routeOf('margin');
    const key = { 'idempotency-key': 'margin' };
    await route.post(key);
    const expire = (ago: string) =>
      database.administrator.query(
        `UPDATE payonce_once.record SET expires_at = now() - interval '${ago}' WHERE key = 'margin'`,
      );
    await expire('50 minutes');
    expect(await once.deleteExpired()).toBe(0);
    expect(codeOf(await route.post(key))).toBe('idempotency_key_expired');
    await expire('70 minutes');
    expect(await once.deleteExpired()).toBe(1);
    expect([route.runs, await database.pointsOf('margin')]).toEqual([1, 1]);
  });

  test('requests a retry while the database cannot be reached', async () => {
    const proxy = await PostgresProxy.start(database.url);
    await proxy.stop();
    const { post } = routeOf(
      'away',
      addPoint,
      createOnce({ postgres: database.pool({ connectionString: proxy.url() }) }),
    );
    const answer = await post({ 'idempotency-key': 'away' });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
  });

  test('refuses invalid options', () => {
    expect(() => once.idempotent({ scope: 'Add Points' }, async () => new Response())).toThrow('scope "Add Points"');
    expect(() => createOnce({ postgres: pool, schema: 'a"b' })).toThrow('schema "a\\"b" must be');
    expect(() => createOnce({ postgres: pool, waitSeconds: 0 })).toThrow('waitSeconds 0 must be 1 to 900');
    expect(() => createOnce({ postgres: pool, retentionHours: { events: 671 } })).toThrow('retentionHours.events 671');
  });
});

test('a Lambda function on PostgreSQL takes effect once', async () => {
  const handler = once.idempotentLambda({ scope: 'lambda-points' }, async (_event, { tx }) => {
    await tx.query(ADD_POINT, ['lambda']);
    return { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' };
  });
  const headers = { 'Idempotency-Key': 'l1', 'Content-Type': 'application/json' };
  const event = { ...gatewayEvent('POST', '/points', headers), body: '{"a":1}' };
  expect(await handler(event)).toMatchObject({ statusCode: 200 });
  expect(await handler(event)).toMatchObject({ statusCode: 200, headers: { 'Idempotency-Replayed': 'true' } });
  expect(await handler({ ...event, body: '{"a":2}' })).toMatchObject({ statusCode: 422 });
  expect(await database.pointsOf('lambda')).toBe(1);
});

test("a service's job on PostgreSQL runs once, however often its run is requested", async () => {
  const target = 'points';
  const secrets = { active: async () => ['secret'], renewed: async () => undefined };
  const app = new Hono<{ Variables: JobVariables }>();
  app.post(
    '/expire',
    admitJobs({ target, scope: 'points:admin', secrets: async () => ['secret'] }),
    once.idempotent<{ Variables: JobVariables }>({ scope: 'expire-points' }, async (c, { tx }) => {
      await tx.query(ADD_POINT, ['job']);
      return c.json({ run: c.get('job').runId });
    }),
  );
  const runId = 'expire-points:2026-03-01T01:20:00Z';
  const tools = { secrets, secretId: 'x', clock: { nowMs: () => Date.now() } };
  const request = async (scopes: readonly string[]) => {
    const credential = await signJobCredential(tools, { path: `${target} /expire`, runId, scopes });
    const headers = { authorization: `Bearer ${credential}`, 'idempotency-key': runId };
    return app.request('/expire', { method: 'POST', headers });
  };
  expect((await request(['other'])).status).toBe(403);
  const answers = await Promise.all(Array.from({ length: 5 }, () => request(['points:admin'])));
  expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual(answers.map(() => ({ run: runId })));
  expect(await database.pointsOf('job')).toBe(1);
});
