/** Tests functions that start at the same time, and together need more connections than the server has. */
import { once } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import pMap from 'p-map';
import { openDatabase } from '../../lambdas/postgres/connection.ts';
import { parseServerUrl } from '../../lambdas/postgres/server.ts';
import { BEYOND_LEASE_MS } from '../payments/payment-story.ts';
import { fixed, sql } from '../postgres/postgres-fixture.ts';
import { asFunctions, openTestDatabase, prepareDatabase, toolsOn } from '../postgres/store-database.ts';
import { createDatabase } from '../support/postgres.ts';
import { startServer } from '../support/server-process.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { inTurn } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { Api, type Reply } from '../world/api.ts';
import { storesOn } from '../world/postgres-stores.ts';
import { World } from '../world/world.ts';

const STARTS = 200;
const MAX_CONNECTIONS = 20;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function startFunction(url: string, number: number) {
  const credentials = fixed(parseServerUrl(asFunctions(url)));
  const database = openDatabase({ credentials, clock: { nowMs: () => Date.now() } });
  const world = new World({ store: storesOn(toolsOn(database)) });
  const api = new Api({}, world);
  return {
    pay: (): Promise<Reply> => api.pay(`cold-start-${number}`),
    advance: () => world.clock.advance(BEYOND_LEASE_MS),
    charges: () => world.processor.inside.all.length,
    close: () => database.close(),
  };
}

// Slow: starts another server, and hundreds of logins take CPU time.
inTurn(test, { place: 0, of: 8, otherwise: test.skip })(
  `${STARTS} functions that start at the same time on a server with ${MAX_CONNECTIONS} connections answer 201, or 503 with Retry-After`,
  async () => {
    const { server, url: address } = await startServer('postgres-server.ts', String(MAX_CONNECTIONS));
    ends.push(async () => {
      const ended = once(server, 'exit');
      server.disconnect();
      await ended;
    });
    const { url } = await createDatabase(address);
    await prepareDatabase(url, new SimulatedClock());
    const functions = Array.from({ length: STARTS }, (_, number) => startFunction(url, number));
    ends.unshift(() => Promise.all(functions.map((each) => each.close())));
    const replies = await Promise.all(functions.map((each) => each.pay()));

    const paid = replies.filter(({ status }) => status === 201);
    const refused = replies.filter(({ status }) => status !== 201);
    expect(paid.length).toBeGreaterThan(0);
    expect(paid.length).toBeLessThan(MAX_CONNECTIONS);
    for (const { status, headers, body } of refused)
      expect([status, headers['Retry-After'], body['code']]).toEqual([
        503,
        expect.stringMatching(/^[1-9]\d*$/),
        'temporarily_unavailable',
      ]);

    await Promise.all(functions.map((each) => each.close()));
    const database = openTestDatabase(url, { connections: 1 });
    ends.unshift(() => database.close());
    const count = async (condition: string) => {
      const text = `SELECT count(*) AS rows FROM idempotency WHERE ${condition}`;
      return (await until(() => database.run(sql(text)).catch(() => undefined)))[0]?.['rows'];
    };
    expect(await count(`status = 'COMPLETED'`)).toBeGreaterThanOrEqual(paid.length);
    expect(await count(`status = 'INPROGRESS' AND (lease_expires_at IS NULL OR due_at IS NULL)`)).toBe(0);
    await pMap(
      functions,
      async (each) => {
        each.advance();
        await until(async () => ((await each.pay()).status === 201 ? true : undefined));
        await each.close();
        expect(each.charges()).toBe(1);
      },
      { concurrency: 4 },
    );
    expect(await count(`status = 'COMPLETED'`)).toBe(STARTS);
  },
);
