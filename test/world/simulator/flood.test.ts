/** Tests the guarantee "fair limits". */
import { describe, expect, test } from '@jest/globals';
import { SLOW_MS } from '../../../lambdas/webhooks/domain/webhook-delivery.ts';
import { inTurn, sliceOf } from '../../support/slice.ts';
import { SimulatedSystem } from './system.ts';

/** Number of payments of the observed tenant `studio`, one each second. */
const WATCHED = 20;
/** Number of requests that the flooding tenant `shop` sends within two seconds: three times its rate limit. */
const FLOOD = 600;
const FLOOD_MS = 2_000;

interface Seen {
  readonly statuses: readonly (number | undefined)[];
  /** Times from a request to its response, to its event on the bus, and to its webhook, in milliseconds. */
  readonly answeredMs: readonly number[];
  readonly publishedMs: readonly number[];
  readonly deliveredMs: readonly number[];
  readonly refused: number;
}

interface Endpoints {
  readonly count: number;
  readonly status: number | 'timeout';
  readonly afterMs?: number;
}

const NEVER: Endpoints = { count: 1, status: 'timeout' };

/** @param flood number of requests from `shop` in two seconds */
async function studioDuringFlood(flood: number, { count, status, afterMs }: Endpoints): Promise<Seen> {
  const system = await SimulatedSystem.begin(1);
  const startMs = system.nowMs;
  const urlOf = (tenant: string): string => `https://${tenant}.example.com/in`;
  const post = (tenant: string, path: string, key: string, body: object) =>
    system.api({ step: 1, tenant, method: 'POST', path, key, body });
  const pay = (tenant: string, key: string) =>
    post(tenant, '/v1/payments', key, { amount: 1000, currency: 'EUR', source: 'tok_ok' });
  const hook = (tenant: string, url: string): void =>
    system.at(startMs + 1, `endpoint ${url}`, async () => {
      await post(tenant, '/v1/webhook_endpoints', `hook-${url}`, { url, events: ['payment.completed'] });
    });
  hook('studio', urlOf('studio'));
  for (let number = 0; number < count; number += 1) {
    const url = `${urlOf('shop')}/${number}`;
    hook('shop', url);
    system.endpointAnswers(url, status, afterMs);
  }
  for (let number = 0; number < WATCHED; number += 1) {
    system.at(
      startMs + 10_000 + number * 1_000,
      `watched ${number}`,
      async () => void (await pay('studio', `w-${number}`)),
    );
  }
  for (let number = 0; number < flood; number += 1) {
    const atMs = startMs + 12_000 + Math.floor((number * FLOOD_MS) / flood);
    system.at(atMs, `flood ${number}`, async () => void (await pay('shop', `f-${number}`)));
  }
  await system.run(startMs + 300_000);
  const of = (tenant: string) => system.calls.filter((call) => call.tenant === tenant && call.path === '/v1/payments');
  const sentAtMs = new Map(
    of('studio').map(({ answer, sentAtMs: atMs }) => [(JSON.parse(answer?.body ?? '{}') as { id?: string }).id, atMs]),
  );
  const ages = (seen: readonly { readonly id: string; readonly atMs: number }[]): readonly number[] =>
    seen.flatMap(({ id, atMs }) => {
      const fromMs = sentAtMs.get(id);
      return fromMs === undefined ? [] : [atMs - fromMs];
    });
  const idIn = (event: unknown): string => (event as { data: { object: { id: string } } }).data.object.id;
  return {
    statuses: of('studio').map(({ answer }) => answer?.status),
    answeredMs: of('studio').map((call) => (call.answer?.atMs ?? Number.POSITIVE_INFINITY) - call.sentAtMs),
    publishedMs: ages(
      system.published.map(({ detail, atMs }) => ({ id: idIn((detail as { event: unknown }).event), atMs })),
    ),
    deliveredMs: ages(system.webhooks.map(({ body, atMs }) => ({ id: idIn(JSON.parse(body)), atMs }))),
    refused: of('shop').filter(({ answer }) => answer?.status === 429).length,
  };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function farFrom(alone: Seen, flooded: Seen): readonly string[] {
  for (const seen of [alone, flooded]) {
    expect(seen.statuses).toEqual(Array.from({ length: WATCHED }, () => 201));
    expect([seen.publishedMs.length, seen.deliveredMs.length]).toEqual([WATCHED, WATCHED]);
  }
  const means = (['answeredMs', 'publishedMs', 'deliveredMs'] as const).filter(
    (what) => mean(flooded[what]) > 2 * mean(alone[what]),
  );
  // The flood's events have their own lanes in the relay, so the slowest of the other events takes at most twice as
  // long as without a flood.
  const oldest = (['publishedMs', 'deliveredMs'] as const).filter(
    (what) => Math.max(...flooded[what]) > 2 * Math.max(...alone[what]),
  );
  return [...means, ...oldest];
}

describe('a flood from one tenant at most doubles the response and event times of another tenant', () => {
  const floods = [
    {
      when: 'the flooding tenant’s endpoint never responds, and many of the tenant’s requests are rejected',
      requests: FLOOD,
      endpoints: NEVER,
      refused: [FLOOD / 4, FLOOD],
    },
    // Without isolation, the 960 webhook calls to the endpoints of this flood would occupy all 20 senders, with ten
    // calls each, for more than 20 seconds.
    {
      when: 'the flooding tenant’s endpoints respond just before they count as slow, and the tenant stays within its limit',
      requests: 240,
      endpoints: { count: 4, status: 200, afterMs: SLOW_MS - 100 },
      refused: [0, 0],
    },
  ] as const;

  // Each slice runs exactly one of three tests: this one, growth.test.ts or outage.test.ts.
  inTurn(test, { place: 1, of: 3, otherwise: test.skip }).each(sliceOf(floods, 2))(
    'even if $when',
    async ({ requests, endpoints, refused: [least, most] }) => {
      const flooded = await studioDuringFlood(requests, endpoints);
      expect(flooded.refused).toBeGreaterThanOrEqual(least);
      expect(flooded.refused).toBeLessThanOrEqual(most);
      expect(farFrom(await studioDuringFlood(0, NEVER), flooded)).toEqual([]);
    },
  );
});
