import { describe, expect, test } from '@jest/globals';
import { type AttemptResult, RETRY_WAITS_SECONDS } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import { updateEndpoint } from '../../lambdas/webhooks/use/webhook-endpoints.ts';
import type { WebhookRequest } from '../../lambdas/webhooks/use/webhooks.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');
const NEW_URL = 'https://moved.shop.com/hooks';

/** @param answer response of the old server after the move */
async function movedDuringAttempt(world: WebhookWorld, answer: AttemptResult): Promise<void> {
  const { webhooks } = world.store;
  const [delivery] = await webhooks.listDeliveries(ENDPOINT.id, { limit: 1 });
  const tools = world.webhookTools(world.actor('sender'));
  const post = async ({ url }: WebhookRequest): Promise<AttemptResult> => {
    expect(url).toBe(ENDPOINT.url);
    const own = { webhooks, addresses: { refusal: async () => undefined }, clock: world.clock };
    const change = { url: NEW_URL };
    const changed = await updateEndpoint(own, { owner: OWNER, cause: BY_REQUEST, endpointId: ENDPOINT.id, change });
    expect(changed).toMatchObject({ kind: 'updated', endpoint: { url: NEW_URL } });
    expect(changed).not.toHaveProperty('endpoint.disabled');
    return answer;
  };
  await sendWebhook({ ...tools, transport: { post } }, ENDPOINT.id, String(delivery?.id));
}

async function arrivedAtNew(world: WebhookWorld): Promise<number> {
  world.answer = () => ({ kind: 'answered', status: 200, excerpt: '' });
  await world.publish(eventNamed('second', world.clock.nowMs()));
  await world.pass(10);
  return world.arrivals.filter(({ url }) => url === NEW_URL).length;
}

describe('an endpoint that has moved during an attempt', () => {
  test('stays enabled although the old URL responds with 410, and gets its events at the new URL', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    await world.publish(eventNamed('first'));
    world.queue = [];
    await movedDuringAttempt(world, { kind: 'answered', status: 410, excerpt: 'gone' });
    expect((await world.store.webhooks.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
    expect(await arrivedAtNew(world)).toBe(2);
  });

  test('stays enabled although the last attempt at the old URL failed', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    await world.publish(eventNamed('first'));
    world.answer = () => ({ kind: 'answered', status: 503, excerpt: '' });
    const deliveries = () => world.store.webhooks.listDeliveries(ENDPOINT.id, { limit: 1 });
    await world.drain();
    for (let waits = 1; waits < RETRY_WAITS_SECONDS.length; waits += 1) await world.jump(deliveries);
    world.clock.advance(24 * 60 * 60_000);
    world.queue = [];
    const [last] = await deliveries();
    expect(last).toMatchObject({ status: 'pending', tries: RETRY_WAITS_SECONDS.length });
    await movedDuringAttempt(world, { kind: 'answered', status: 503, excerpt: '' });
    expect((await world.store.webhooks.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
    expect(await arrivedAtNew(world)).toBeGreaterThan(0);
  });
});
