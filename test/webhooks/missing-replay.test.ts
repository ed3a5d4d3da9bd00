import { describe, expect, test } from '@jest/globals';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import {
  type AttemptResult,
  DELIVERY_KEPT_SECONDS,
  RETRY_WAITS_SECONDS,
} from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { acceptReplay, replayPage } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');
const DOWN: AttemptResult = { kind: 'answered', status: 503, excerpt: '' };
const UP: AttemptResult = { kind: 'answered', status: 200, excerpt: '' };

function accept(world: WebhookWorld, name: string, fromMs: number, untilMs: number) {
  return acceptReplay(world.webhookTools(world.actor('api')), {
    caller: OWNER,
    fingerprint: { version: 1, sha256: new Uint8Array(32) },
    cause: BY_REQUEST,
    operationId: storedOperationId(`wh_${name}`),
    endpointId: ENDPOINT.id,
    replayId: `rpl_${name}`,
    fromMs,
    untilMs,
    isPartial: true,
  });
}

const arrivalsOf = (world: WebhookWorld) => world.arrivals.map(({ headers }) => headers['webhook-id']);

describe('a replay of missing events', () => {
  test('sends only events that were not accepted, and nothing when it is repeated', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    const fromMs = world.clock.nowMs();
    const accepted = eventNamed('accepted', fromMs);
    const failed = eventNamed('failed', fromMs + 1);
    const never = eventNamed('never', fromMs + 2);
    const waiting = eventNamed('waiting', fromMs + 3);
    await world.publish(accepted);
    await world.drain();
    world.answer = () => DOWN;
    await world.publish(failed);
    await world.drain();
    const { webhooks } = world.store;
    const [first] = await webhooks.listDeliveries(ENDPOINT.id, { limit: 1 });
    if (first === undefined) throw new Error('there is no delivery');
    const { dueAtMs: _due, sweepAtMs: _sweep, ...rest } = first;
    await webhooks.write({
      deliveries: [{ was: first, now: { ...rest, revision: first.revision + 1, status: 'failed' } }],
    });
    await world.publish(waiting);
    await world.drain();
    // The event `never` was fanned out before the endpoint existed.
    world.past = [accepted, failed, never, waiting];
    world.answer = () => UP;
    world.arrivals.length = 0;
    world.queue = [];

    expect((await accept(world, 'one', fromMs, fromMs + 4)).kind).toBe('first');
    await world.pass(10);

    expect(new Set(arrivalsOf(world))).toEqual(new Set([failed, never, waiting].map(({ event }) => event.id)));
    expect(world.arrivals).toHaveLength(3);
    expect(await webhooks.readReplay('rpl_one')).toMatchObject({ status: 'completed', sent: 3 });

    expect((await accept(world, 'two', fromMs, fromMs + 4)).kind).toBe('first');
    await world.pass(10);
    expect(world.arrivals).toHaveLength(3);
    expect(await webhooks.readReplay('rpl_two')).toMatchObject({ status: 'completed', sent: 0 });
  });

  test.each([
    ['succeeds', UP, 1],
    ['fails', DOWN, 2],
  ])('waits for the last attempt of a delivery, which then %s', async (_what, result, arrivals) => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    const event = eventNamed('last', world.clock.nowMs());
    world.past = [event];
    // The endpoint accepts other events, so it is not disabled.
    world.answer = ({ headers }) => (headers['webhook-id'] === event.event.id ? DOWN : UP);
    await world.publish(event);
    await world.drain();
    const { webhooks } = world.store;
    const delivery = async () =>
      (await webhooks.listDeliveries(ENDPOINT.id, { limit: 9 })).find(({ eventId }) => eventId === event.event.id);
    const deliveries = async () => [await delivery()].flatMap((each) => each ?? []);
    for (let waits = 1; waits < RETRY_WAITS_SECONDS.length; waits += 1) await world.jump(deliveries);
    await world.publish(eventNamed('other', world.clock.nowMs()));
    await world.drain();
    world.clock.advance(24 * 60 * 60_000);
    world.queue = [];
    world.arrivals.length = 0;
    const tools = world.webhookTools(world.actor('sender'));
    const post = async (): Promise<AttemptResult> => {
      world.arrivals.push({ url: ENDPOINT.url, headers: {}, body: '', atMs: 0, afterSuccess: false });
      await accept(world, 'one', event.occurredAtMs, event.occurredAtMs + 1);
      expect(await replayPage(tools, 'rpl_one')).toBe('page');
      expect(await webhooks.readReplay('rpl_one')).toMatchObject({ status: 'running', sent: 0 });
      return result;
    };
    await sendWebhook({ ...tools, transport: { post } }, ENDPOINT.id, (await delivery())?.id ?? '');
    world.answer = () => UP;
    await world.pass(10);
    expect(await webhooks.readReplay('rpl_one')).toMatchObject({ status: 'completed', sent: arrivals - 1 });
    expect((await delivery())?.status).toBe('delivered');
    expect(world.arrivals).toHaveLength(arrivals);
  });

  test('sends no event whose delivery may have been deleted while the replay waited', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    const fromMs = world.clock.nowMs();
    world.past = [eventNamed('old', fromMs), eventNamed('newer', fromMs + 60_000)];
    world.clock.advance(DELIVERY_KEPT_SECONDS * 1000 - 30_000);
    await accept(world, 'one', fromMs, fromMs + 120_000);
    world.clock.advance(60_000);
    await replayPage(world.webhookTools(world.actor('sender')), 'rpl_one');
    await world.drain();
    expect(arrivalsOf(world)).toEqual([world.past[1]?.event.id]);
  });
});
