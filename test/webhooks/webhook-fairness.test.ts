/** Tests how slow endpoints of one tenant affect the senders that other tenants need. */
import { describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { CROWDED_MS, newDelivery, SLOW_MS } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { groupOf, type WebhookEndpoint, type WebhookOwner } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { fanOut, webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { wakeLane } from '../../lambdas/webhooks/use/wake-lane.ts';
import { inTurn } from '../support/slice.ts';
import { endpointNamed, eventNamed } from './webhook-fixtures.ts';
import { HANGING, NORMAL, ownerOf, SECOND_MS, Site, START_MS } from './webhook-site.ts';

const STEADY = Array.from({ length: 16 }, (_, index) => endpointNamed(`steady-${index}`));

/**
 * Returns the mean and the maximum age of another tenant's deliveries, in milliseconds, while 16 endpoints of one
 * tenant respond slowly.
 */
async function agesUnderLoad(
  answersIn: number,
  isFair: boolean,
): Promise<{ readonly mean: number; readonly oldest: number }> {
  const site = new Site();
  site.isFair = isFair;
  await site.add(NORMAL, 80);
  const owner = ownerOf(HANGING);
  const was = await site.store.readBook(owner);
  await site.store.write({ book: { was, now: { ...was, revision: 1, endpoints: STEADY } } });
  for (const { url } of STEADY) site.answersIn.set(url, answersIn);
  const published = new Map<string, number>();
  for (let tick = 0; tick < 20; tick += 1) {
    for (let made = 0; made < 20; made += 1)
      await fanOut(site.tools, eventNamed(`steady-${tick}-${made}`, site.clock.nowMs(), 'payment.completed', owner));
    for (let part = 0; part < 5; part += 1) {
      published.set(eventNamed(`normal-${tick}-${part}`).event.id, site.clock.nowMs());
      await site.publish(NORMAL, `normal-${tick}-${part}`);
      await site.clock.until(site.clock.nowMs() + 200);
    }
  }
  await site.pass(5);
  const ages = site.arrivals
    .filter(({ url }) => url === NORMAL.url)
    .map(({ eventId, atMs }) => atMs - (published.get(eventId) ?? 0));
  expect([ages.length, site.failed]).toEqual([100, []]);
  return { mean: ages.reduce((sum, age) => sum + age, 0) / ages.length, oldest: Math.max(...ages) };
}

describe('16 endpoints of one tenant that respond slowly', () => {
  inTurn(test, { place: 1, of: 6, otherwise: test.skip })(
    'delay another tenant once, by at most one call',
    async () => {
      const { mean, oldest } = await agesUnderLoad(SLOW_MS - 100, true);
      expect(oldest).toBeLessThan(SLOW_MS + SECOND_MS);
      expect(mean).toBeLessThan(SECOND_MS);
    },
  );

  inTurn(test, { place: 3, of: 6, otherwise: test.skip })(
    'delay another tenant by at most one call if they respond within a second, but by seconds if the queue is not fair',
    async () => {
      expect((await agesUnderLoad(CROWDED_MS - 100, true)).oldest).toBeLessThan(CROWDED_MS + SECOND_MS);
      expect((await agesUnderLoad(CROWDED_MS - 100, false)).oldest).toBeGreaterThan(5 * SECOND_MS);
    },
  );

  inTurn(test, { place: 5, of: 6, otherwise: test.skip })(
    'leave executions for the lane of another tenant while all their lanes are processed',
    async () => {
      const site = new Site();
      const isolated = (endpoint: WebhookEndpoint) => ({ ...endpoint, slow: { sinceMs: START_MS } });
      const fill = async (owner: WebhookOwner, endpoints: readonly WebhookEndpoint[], count: number) => {
        const was = await site.store.readBook(owner);
        await site.store.write({ book: { was, now: { ...was, revision: 1, endpoints } } });
        for (const endpoint of endpoints) {
          await wakeLane({ webhooks: site.store, clock: site.clock }, owner, endpoint.id);
          for (let made = 0; made < count; made += 1) {
            const message = webhookMessage(eventNamed(`${endpoint.id}-${made}`, START_MS));
            const now = newDelivery(systemDigest, owner, endpoint, message, site.clock.nowMs());
            await site.store.write({ deliveries: [{ now }] });
          }
          await site.tools.tasks.enqueue(
            [{ task: { kind: 'lane', endpointId: endpoint.id }, group: groupOf(owner) }],
            0,
          );
        }
      };
      for (const { url } of STEADY) site.answersIn.set(url, SLOW_MS - 100);
      await fill(ownerOf(HANGING), STEADY.map(isolated), 40);
      await site.clock.until(START_MS + SECOND_MS);
      expect(site.calls).toBe(10 * STEADY.length);
      await fill(ownerOf(NORMAL), [isolated(NORMAL)], 1);
      await site.clock.until(START_MS + 2 * SECOND_MS);
      expect(site.arrivals.map(({ url }) => url)).toEqual([NORMAL.url]);
    },
  );
});
