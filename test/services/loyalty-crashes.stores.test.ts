import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';
import { freePort } from '../../local/free-port.ts';
import { Administrator } from '../postgres/postgres-fixture.ts';
import { PostgresProxy } from '../postgres/postgres-proxy.ts';
import { inTurn } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { ServiceDatabase } from './service-database.ts';

let database: ServiceDatabase;
const begun: ChildProcess[] = [];

beforeAll(async () => {
  database = await ServiceDatabase.create();
});
afterEach(() => {
  for (const child of begun.splice(0)) child.kill('SIGKILL');
});
afterAll(() => database.close());

async function start(url = database.url) {
  const port = await freePort(0);
  const child = spawn(process.execPath, [join('examples', 'loyalty', 'server.ts')], {
    cwd: PROJECT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { DATABASE_URL: url, PORT: String(port), NODE_NO_WARNINGS: '1' },
  });
  begun.push(child);
  await once(child.stdout, 'data');
  return {
    kill: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    redeem: async (key: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/redemptions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({ member: key, points: 30 }),
      });
      return [answer.status, answer.headers.get('idempotency-replayed'), await answer.json()];
    },
  };
}

const spent = (member: string) => ({ object: 'redemption', member, points: 30, points_left: 70 });
const addMember = (member: string) =>
  database.administrator.query('INSERT INTO member VALUES ($1, 100, now())', [member]);
const pointsOf = async (member: string): Promise<unknown> =>
  (await database.administrator.query('SELECT points FROM member WHERE id = $1', [member]))[0]?.['points'];

const CRASHES = [
  {
    member: 'before-commit',
    replayed: null,
    crash: async (member: string): Promise<void> => {
      const service = await start();
      await addMember(member);
      const holder = await Administrator.connect(database.url);
      await holder.query('BEGIN');
      await holder.query('SELECT points FROM member WHERE id = $1 FOR UPDATE', [member]);
      const lost = service.redeem(member).catch(() => undefined);
      await database.administrator.awaitSessions('UPDATE member', 'Lock');
      await service.kill();
      await holder.end();
      expect(await lost).toBeUndefined();
    },
  },
  {
    member: 'after-commit',
    replayed: 'true',
    crash: async (member: string): Promise<void> => {
      const proxy = await PostgresProxy.start(database.url);
      const service = await start(proxy.url());
      await addMember(member);
      proxy.plan('COMMIT', 'hold response');
      const lost = service.redeem(member).catch(() => undefined);
      await until(async () => (await pointsOf(member)) === 70 || undefined);
      await service.kill();
      await proxy.stop();
      expect(await lost).toBeUndefined();
    },
  },
] as const;

// Each test starts two processes, which take a second of CPU time each, so `npm test` runs it only in some slices.
// `postgres-once.stores.test.ts` covers a connection lost before and after the commit in every run, without killing a
// process.
for (const [place, { member, replayed, crash }] of CRASHES.entries())
  inTurn(test, { place, of: 2 * CRASHES.length, otherwise: test.skip })(
    `a service that is killed ${member} spends the points once, and sends its client the same response again`,
    async () => {
      await crash(member);
      const next = await start();
      expect(await next.redeem(member)).toEqual([201, replayed, spent(member)]);
      expect(await next.redeem(member)).toEqual([201, 'true', spent(member)]);
      expect(await pointsOf(member)).toBe(70);
    },
  );
