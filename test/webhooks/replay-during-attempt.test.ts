import { describe, expect, test } from '@jest/globals';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { type AttemptResult, RETRY_WAITS_SECONDS } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { acceptReplay, replayPage } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import { resendWebhook } from '../../lambdas/webhooks/use/resend-webhook.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');
const EVENT = eventNamed('first');
const DOWN: AttemptResult = { kind: 'answered', status: 503, excerpt: '' };
const UP: AttemptResult = { kind: 'answered', status: 200, excerpt: '' };
const KEYED = { caller: OWNER, fingerprint: { version: 1, sha256: new Uint8Array(32) }, cause: BY_REQUEST };

/** The attempt fails after the replay is complete. */
async function replayedDuringAttempt(world: WebhookWorld, deliveryId: string): Promise<void> {
  const tools = world.webhookTools(world.actor('sender'));
  world.past = [EVENT];
  const post = async (): Promise<AttemptResult> => {
    const asked = await acceptReplay(tools, {
      ...KEYED,
      operationId: storedOperationId('wh_replay'),
      endpointId: ENDPOINT.id,
      replayId: 'rpl_one',
      fromMs: EVENT.occurredAtMs,
      untilMs: EVENT.occurredAtMs + 1,
    });
    expect(asked.kind).toBe('first');
    await replayPage(tools, 'rpl_one');
    return DOWN;
  };
  await sendWebhook({ ...tools, transport: { post } }, ENDPOINT.id, deliveryId);
  world.answer = () => UP;
  await world.pass(30);
  expect(await world.store.webhooks.readReplay('rpl_one')).toMatchObject({ status: 'completed' });
}

describe('an event replayed during a failing attempt', () => {
  test('is delivered by the replay if the attempt is a resend, which has no retry', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    await world.publish(EVENT);
    await world.drain();
    const [delivery] = await world.store.webhooks.listDeliveries(ENDPOINT.id, { limit: 1 });
    const deliveryId = String(delivery?.id);
    expect([delivery?.status, world.arrivals.length]).toEqual(['delivered', 1]);
    // The merchant processed the event, and then lost its data.
    await resendWebhook(world.webhookTools(world.actor('api')), {
      ...KEYED,
      operationId: storedOperationId('wh_resend'),
      endpointId: ENDPOINT.id,
      deliveryId,
    });
    world.queue = [];
    await replayedDuringAttempt(world, deliveryId);
    expect(world.arrivals.length).toBeGreaterThan(1);
  });

  test('is delivered by the replay if the attempt is the last of its schedule', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    await world.publish(EVENT);
    world.answer = ({ headers }) => (headers['webhook-id'] === EVENT.event.id ? DOWN : UP);
    const deliveries = async () =>
      (await world.store.webhooks.listDeliveries(ENDPOINT.id, { limit: 9 })).filter(
        ({ eventId }) => eventId === EVENT.event.id,
      );
    await world.drain();
    for (let waits = 1; waits < RETRY_WAITS_SECONDS.length; waits += 1) await world.jump(deliveries);
    await world.publish(eventNamed('other', world.clock.nowMs()));
    await world.drain();
    world.clock.advance(24 * 60 * 60_000);
    world.queue = [];
    const [last] = await deliveries();
    expect(last).toMatchObject({ status: 'pending', tries: RETRY_WAITS_SECONDS.length });
    await replayedDuringAttempt(world, String(last?.id));
    expect((await deliveries())[0]?.status).toBe('delivered');
  });
});

test.each([
  ['was deleted', []],
  ['has begun another replay since', [endpointNamed('orders', { replay: 'rpl_two' })]],
])('a replay ends without changing another replay if its endpoint %s', async (_what, endpoints) => {
  const world = new WebhookWorld();
  await world.addEndpoints([ENDPOINT]);
  world.past = [EVENT];
  const tools = world.webhookTools(world.actor('api'));
  await acceptReplay(tools, {
    ...KEYED,
    operationId: storedOperationId('wh_replay'),
    endpointId: ENDPOINT.id,
    replayId: 'rpl_one',
    fromMs: EVENT.occurredAtMs,
    untilMs: EVENT.occurredAtMs + 1,
  });
  const { webhooks } = world.store;
  const was = await webhooks.readBook(OWNER);
  await webhooks.write({ book: { was, now: { ...was, revision: was.revision + 1, endpoints } } });
  expect(await replayPage(tools, 'rpl_one')).toBe('ended');
  expect((await webhooks.readReplay('rpl_one'))?.status).toBe(endpoints.length === 0 ? 'canceled' : 'completed');
  expect((await webhooks.readBook(OWNER)).endpoints.map(({ replay }) => replay)).toEqual(
    endpoints.map(({ replay }) => replay),
  );
});
