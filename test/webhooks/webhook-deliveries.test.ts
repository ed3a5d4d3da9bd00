/** Tests the guarantee "delivered webhooks". */
import { describe, expect, test } from '@jest/globals';
import type { PayonceEvent } from '../../lambdas/events/domain/event.ts';
import { RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { AttemptResult } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import {
  DELIVERY_KEPT_SECONDS,
  RETRY_WAITS_SECONDS,
  withRequestedAttempt,
} from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { fanOut } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { acceptReplay } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import { resendWebhook } from '../../lambdas/webhooks/use/resend-webhook.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import { testWebhook } from '../../lambdas/webhooks/use/test-webhook.ts';
import { updateEndpoint } from '../../lambdas/webhooks/use/webhook-endpoints.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { Crash } from '../support/fault-plan.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');
const OTHER = endpointNamed('other');
const HOUR_MS = 60 * 60 * 1000;
const refusing =
  (status: number): (() => AttemptResult) =>
  () => ({ kind: 'answered', status, excerpt: 'no' });
const fingerprint = { version: 1, sha256: new Uint8Array(32) };

async function worldWith(...endpoints: (typeof ENDPOINT)[]): Promise<WebhookWorld> {
  const world = new WebhookWorld();
  await world.addEndpoints(endpoints);
  return world;
}

const deliveriesOf =
  (world: WebhookWorld, endpoint = ENDPOINT) =>
  () =>
    world.store.webhooks.listDeliveries(endpoint.id, { limit: 100 });

test('the waits of the schedule increase, and add up to three days', () => {
  expect(RETRY_WAITS_SECONDS.reduce((sum, each) => sum + each, 0)).toBe(72 * 60 * 60);
  expect([...RETRY_WAITS_SECONDS].sort((left, right) => left - right)).toEqual(RETRY_WAITS_SECONDS);
});

test.each([
  ['1800', 1_800],
  ['86400', 3_600],
  ['1', 0],
  ['+40', 0],
])(
  'after Retry-After: %s, the next attempt is made after this time (at most an hour) or the scheduled wait, whichever is longer',
  async (retryAfter, seconds) => {
    const world = await worldWith(ENDPOINT);
    world.answer = () => ({ kind: 'answered', status: 503, excerpt: '', retryAfter });
    await world.publish(eventNamed('later'));
    await world.drain();
    const [delivery] = await deliveriesOf(world)();
    // The jitter is at its minimum here: nine tenths of the wait.
    const scheduledMs = 900 * (RETRY_WAITS_SECONDS[0] ?? 0);
    expect((delivery?.dueAtMs ?? 0) - world.clock.nowMs()).toBe(Math.max(scheduledMs, seconds * 1000));
  },
);

describe('an endpoint', () => {
  test('that rejects an event is disabled after ten attempts in three days; the other endpoints are notified when it starts failing and when it is disabled', async () => {
    const world = await worldWith(ENDPOINT, OTHER);
    world.answer = ({ url }) => ({ kind: 'answered', status: url === ENDPOINT.url ? 503 : 200, excerpt: '' });
    const beganAtMs = world.clock.nowMs();
    await world.publish(eventNamed('lost'));
    await world.drain();
    for (let jumps = 0; jumps < 30 && (await world.jump(deliveriesOf(world))); jumps += 1);
    const took = world.clock.nowMs() - beganAtMs;
    const tried = world.arrivals.filter(({ url }) => url === ENDPOINT.url);
    expect(tried).toHaveLength(10);
    // The jitter is at its minimum here: nine tenths of the wait.
    expect(took / HOUR_MS).toBeCloseTo(0.9 * 72, 0);
    const { endpoints } = await world.store.webhooks.readBook(OWNER);
    expect(endpoints.find(({ id }) => id === ENDPOINT.id)?.disabled?.reason).toBe('failing');
    const reported = world.arrivals
      .filter(({ url }) => url === OTHER.url)
      .map(({ body }) => JSON.parse(body) as unknown);
    expect(reported).toHaveLength(3);
    expect(reported[1]).toMatchObject({ type: 'webhook_endpoint.failing', data: { object: { id: ENDPOINT.id } } });
    expect(reported[2]).toMatchObject({
      type: 'webhook_endpoint.disabled',
      data: { object: { id: ENDPOINT.id, enabled: false, disabled: { reason: 'failing' } } },
    });
  });

  test('stays enabled if it rejects one event but accepts other events', async () => {
    const world = await worldWith(ENDPOINT);
    const poison = eventNamed('poison', world.clock.nowMs());
    world.answer = ({ headers }) => ({
      kind: 'answered',
      status: headers['webhook-id'] === poison.event.id ? 500 : 204,
      excerpt: '',
    });
    await world.publish(poison);
    await world.drain();
    await world.jump(deliveriesOf(world));
    await world.publish(eventNamed('good', world.clock.nowMs()));
    for (let jumps = 0; jumps < 30 && (await world.jump(deliveriesOf(world))); jumps += 1);
    expect((await deliveriesOf(world)()).map(({ status }) => status)).toEqual(['delivered', 'failed']);
    expect((await world.store.webhooks.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
  });

  test('gets an unreadable delivery only when its message is redriven after a fix, and not from the sweep', async () => {
    const world = await worldWith(ENDPOINT);
    await world.publish(eventNamed('unreadable'));
    const [delivery] = await deliveriesOf(world)();
    if (delivery === undefined) throw new Error('the delivery does not exist');
    world.queue = [];
    const tools = world.webhookTools(world.actor('sender'));
    const { webhooks } = tools;
    const older: typeof webhooks = {
      ...webhooks,
      readDelivery: () => Promise.reject(new TerminalError('row_unreadable', 'written by another version')),
    };
    const attempt = (store = webhooks) => sendWebhook({ ...tools, webhooks: store }, delivery.endpointId, delivery.id);
    await expect(attempt(older)).rejects.toMatchObject({ code: 'row_unreadable' });
    expect(await world.sweep()).toBe(0);
    await expect(attempt(older)).rejects.toMatchObject({ code: 'row_unreadable' });
    expect(await attempt()).toBe('delivered');
    expect(world.arrivals).toHaveLength(1);
  });

  test('gets no request if so little of the lease is left that another sender might take over during the request', async () => {
    const world = await worldWith(ENDPOINT);
    await world.publish(eventNamed('late'));
    const [delivery] = await deliveriesOf(world)();
    if (delivery === undefined) throw new Error('the delivery does not exist');
    const tools = world.webhookTools(world.actor('sender'));
    const bodies = async (id: string) => {
      world.clock.advance(20_001);
      return tools.bodies(id);
    };
    expect(await sendWebhook({ ...tools, bodies }, delivery.endpointId, delivery.id)).toBe('too_late');
    expect(world.arrivals).toEqual([]);
    world.clock.advance(60_000);
    expect(await sendWebhook(tools, delivery.endpointId, delivery.id)).toBe('delivered');
  });

  test('receives nothing after it is disabled, and due deliveries are canceled', async () => {
    const world = await worldWith(ENDPOINT);
    world.answer = refusing(500);
    await world.publish(eventNamed('first'));
    await world.drain();
    const change = { enabled: false };
    const tools = { webhooks: world.store.webhooks, addresses: { refusal: async () => undefined }, clock: world.clock };
    await updateEndpoint(tools, { owner: OWNER, cause: BY_REQUEST, endpointId: ENDPOINT.id, change });
    await world.publish(eventNamed('second'));
    await world.pass(10);
    expect(world.arrivals).toHaveLength(1);
    expect((await deliveriesOf(world)()).map(({ status }) => status)).toEqual(['canceled']);
    expect(await world.store.webhooks.due(Number.MAX_SAFE_INTEGER - 1, 10)).toEqual([]);
  });

  test('is disabled immediately if it responds with 410', async () => {
    const world = await worldWith(ENDPOINT);
    world.answer = refusing(410);
    await world.publish(eventNamed('gone'));
    expect(await world.drain()).toEqual(['disabled']);
    const { endpoints } = await world.store.webhooks.readBook(OWNER);
    expect(endpoints[0]?.disabled?.reason).toBe('gone');
    await world.pass(120);
    expect(world.arrivals).toHaveLength(1);
  });

  test.each([301, 302, 307, 308, 400, 404, 429, 500])('gets another attempt if it responds with %i', async (status) => {
    const world = await worldWith(ENDPOINT);
    world.answer = refusing(status);
    await world.publish(eventNamed('again'));
    expect(await world.drain()).toEqual(['failed']);
    await world.pass(1);
    expect(world.arrivals).toHaveLength(2);
    const [delivery] = await deliveriesOf(world)();
    expect(delivery?.attempts.map((attempt) => attempt.status)).toEqual([status, status]);
  });
});

describe('a failure of Payonce', () => {
  test('uses none of the ten attempts, however long it lasts', async () => {
    const world = await worldWith(ENDPOINT);
    const { secrets } = world;
    world.secrets = {
      ...secrets,
      secretOf: async () => {
        throw new RetryableError('secrets_unavailable', 'the root keys cannot be read now');
      },
    };
    await world.publish(eventNamed('outage'));
    await world.drain();
    await world.pass(30);
    world.secrets = secrets;
    world.answer = refusing(503);
    await world.pass(1);
    const [delivery] = await deliveriesOf(world)();
    expect([delivery?.status, delivery?.tries]).toEqual(['pending', 1]);
    expect((await world.store.webhooks.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
  });

  test('uses none of the ten attempts, even if the merchant requests a resend', async () => {
    const world = await worldWith(ENDPOINT);
    await world.publish(eventNamed('lost'));
    world.answer = () => {
      throw new Crash('sender');
    };
    await world.drain();
    world.clock.advance(60_000);
    const [lost] = await deliveriesOf(world)();
    if (lost === undefined) throw new Error('the delivery does not exist');
    await world.store.webhooks.write({
      deliveries: [{ was: lost, now: withRequestedAttempt(lost, world.clock.nowMs()) }],
    });
    world.answer = refusing(503);
    await world.pass(1);
    const [delivery] = await deliveriesOf(world)();
    expect([delivery?.status, delivery?.tries]).toEqual(['pending', 1]);
  });
});

test('an event reaches only the endpoints of its tenant and mode with a subscription to its type', async () => {
  const world = await worldWith(ENDPOINT, endpointNamed('failures', { events: ['payment.failed'] }));
  await world.addEndpoints([endpointNamed('live')], { ...OWNER, mode: 'live' });
  await world.publish(eventNamed('one'));
  await world.drain();
  expect(world.arrivals.map(({ url }) => url)).toEqual([ENDPOINT.url]);
});

test('a redriven event is refused if its deliveries may already have been deleted', async () => {
  const world = await worldWith(ENDPOINT);
  const keptMs = DELIVERY_KEPT_SECONDS * 1000;
  const old = eventNamed('old', world.clock.nowMs() - keptMs + HOUR_MS);
  await expect(fanOut(world.webhookTools(world.actor('consumer')), old)).rejects.toMatchObject({
    code: 'event_too_old',
  });
  expect(await deliveriesOf(world)()).toEqual([]);
  await world.publish(eventNamed('kept', world.clock.nowMs() - keptMs + 2 * HOUR_MS));
  expect(await deliveriesOf(world)()).toHaveLength(1);
});

test('disabling one endpoint during a fan-out to sixteen endpoints does not affect the other fifteen', async () => {
  const endpoints = Array.from({ length: 16 }, (_, index) => endpointNamed(`shop-${index}`));
  const world = await worldWith(...endpoints);
  world.answer = ({ url }) => ({ kind: 'answered', status: url === endpoints[0]?.url ? 410 : 200, excerpt: '' });
  await world.publish(eventNamed('wide'));
  await world.drain();
  await world.pass(2);
  const wide = world.arrivals.filter(({ body }) => body.includes('payment.completed'));
  expect(wide).toHaveLength(16);
  expect(world.arrivals.filter(({ body }) => body.includes('webhook_endpoint.disabled'))).toHaveLength(15);
});

describe('a test event', () => {
  const sendTest = async (world: WebhookWorld, key = 'test') =>
    testWebhook(
      { ...world.webhookTools(world.actor('api')), digest: systemDigest },
      {
        caller: OWNER,
        operationId: storedOperationId(`wh_${key}`),
        fingerprint,
        cause: BY_REQUEST,
        endpointId: ENDPOINT.id,
      },
    );

  test('arrives once per idempotency key, with the event type webhook_endpoint.test', async () => {
    const world = await worldWith(ENDPOINT);
    expect([(await sendTest(world)).kind, (await sendTest(world)).kind]).toEqual(['first', 'replay']);
    await world.drain();
    await world.pass(60);
    expect(world.arrivals.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
      { type: 'webhook_endpoint.test', livemode: false, data: { object: { id: ENDPOINT.id, url: ENDPOINT.url } } },
    ]);
    const [delivery] = await deliveriesOf(world)();
    expect(delivery?.status).toBe('delivered');
  });

  test('is not retried if it fails, and its endpoint stays enabled', async () => {
    const world = await worldWith(ENDPOINT);
    world.answer = refusing(500);
    await sendTest(world);
    await world.drain();
    await world.pass(24 * 60);
    expect(world.arrivals).toHaveLength(1);
    const [delivery] = await deliveriesOf(world)();
    expect([delivery?.status, delivery?.attempts.length, delivery?.dueAtMs]).toEqual(['failed', 1, undefined]);
    expect((await world.store.webhooks.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
  });

  test('is sent by the next sender if its sender crashes', async () => {
    const world = await worldWith(ENDPOINT);
    world.answer = () => {
      throw new Crash('sender');
    };
    await sendTest(world);
    await world.drain();
    world.answer = () => ({ kind: 'answered', status: 200, excerpt: '' });
    await world.pass(10);
    const [delivery] = await deliveriesOf(world)();
    expect(delivery?.status).toBe('delivered');
  });
});

describe('a resend', () => {
  const ask = async (world: WebhookWorld, key: string) => {
    const [delivery] = await deliveriesOf(world)();
    return resendWebhook(world.webhookTools(world.actor('api')), {
      caller: OWNER,
      operationId: storedOperationId(`wh_${key}`),
      fingerprint,
      cause: BY_REQUEST,
      endpointId: ENDPOINT.id,
      deliveryId: delivery?.id ?? '',
    });
  };

  test('makes one attempt per key, and the delivery stays marked as delivered even if the attempt fails', async () => {
    const world = await worldWith(ENDPOINT);
    await world.publish(eventNamed('again'));
    await world.drain();
    expect((await ask(world, 'a')).kind).toBe('first');
    expect((await ask(world, 'a')).kind).toBe('replay');
    world.answer = refusing(500);
    await world.drain();
    await world.pass(60);
    expect(world.arrivals).toHaveLength(2);
    const [delivery] = await deliveriesOf(world)();
    expect([delivery?.status, delivery?.attempts.length]).toEqual(['delivered', 2]);
    expect([...world.successes.values()]).toEqual([1]);
  });

  test('of a pending delivery makes the next attempt immediately', async () => {
    const world = await worldWith(ENDPOINT);
    world.answer = refusing(500);
    await world.publish(eventNamed('waits'));
    await world.drain();
    world.answer = () => ({ kind: 'answered', status: 200, excerpt: '' });
    await ask(world, 'a');
    await world.drain();
    const [delivery] = await deliveriesOf(world)();
    expect([delivery?.status, delivery?.attempts.length]).toEqual(['delivered', 2]);
  });
});

describe('a range replay', () => {
  const replay = async (world: WebhookWorld, event: PayonceEvent): Promise<void> => {
    world.past = [event];
    await acceptReplay(world.webhookTools(world.actor('api')), {
      caller: OWNER,
      operationId: storedOperationId('wh_replay'),
      fingerprint,
      endpointId: ENDPOINT.id,
      replayId: 'rpl_one',
      fromMs: event.occurredAtMs,
      untilMs: event.occurredAtMs + 1,
      cause: BY_REQUEST,
    });
    await world.drain();
  };

  test.each([
    ['canceled', 1],
    ['failed', 10],
  ])('restarts the schedule of a delivery that is %s', async (status, jumps) => {
    const world = await worldWith(ENDPOINT);
    const event = eventNamed('missed', world.clock.nowMs());
    const tools = { webhooks: world.store.webhooks, addresses: { refusal: async () => undefined }, clock: world.clock };
    const enable = (enabled: boolean) =>
      updateEndpoint(tools, { owner: OWNER, cause: BY_REQUEST, endpointId: ENDPOINT.id, change: { enabled } });
    world.answer = refusing(503);
    await world.publish(event);
    await world.drain();
    if (status === 'canceled') await enable(false);
    for (let jump = 0; jump < jumps; jump += 1) await world.jump(deliveriesOf(world));
    expect((await deliveriesOf(world)())[0]?.status).toBe(status);

    await enable(true);
    await replay(world, event);
    expect((await deliveriesOf(world)())[0]).toMatchObject({ status: 'pending', tries: 1 });
    world.answer = refusing(204);
    await world.jump(deliveriesOf(world));
    expect((await deliveriesOf(world)())[0]?.status).toBe('delivered');
  });

  test('is refused while another replay of the endpoint runs, and accepted later with the same key', async () => {
    const world = await worldWith(ENDPOINT);
    const fromMs = world.clock.nowMs();
    world.past = [eventNamed('past', fromMs)];
    const ask = (key: string) =>
      acceptReplay(world.webhookTools(world.actor('api')), {
        caller: OWNER,
        operationId: storedOperationId(`wh_${key}`),
        fingerprint,
        endpointId: ENDPOINT.id,
        replayId: `rpl_${key}`,
        fromMs,
        untilMs: fromMs + 1,
        cause: BY_REQUEST,
      });
    expect((await ask('a')).kind).toBe('first');
    expect(await ask('b')).toEqual({ kind: 'replay_running', replayId: 'rpl_a' });
    expect((await ask('a')).kind).toBe('replay');
    await world.drain();
    expect((await ask('b')).kind).toBe('first');
  });

  test('delivers every event, even if a process pauses at any call', async () => {
    for (const point of Array.from({ length: 40 }, (_, index) => index + 1)) {
      const world = await worldWith(ENDPOINT);
      const beganAtMs = world.clock.nowMs();
      world.past = Array.from({ length: 5 }, (_, index) => eventNamed(`past-${index}`, beganAtMs + index));
      await world.publish(world.past[0] ?? eventNamed('none'));
      await world.drain();
      const before = world.arrivals.length;
      await acceptReplay(world.webhookTools(world.actor('api')), {
        caller: OWNER,
        operationId: storedOperationId('wh_replay'),
        fingerprint,
        endpointId: ENDPOINT.id,
        replayId: 'rpl_one',
        fromMs: beganAtMs,
        untilMs: beganAtMs + 5,
        cause: BY_REQUEST,
      });
      world.plan.holdAt(world.plan.calls.length + point, () => world.pass(2));
      await world.drain();
      await world.pass(3);
      expect((await world.store.webhooks.readReplay('rpl_one'))?.status).toBe('completed');
      const ids = world.arrivals.slice(before).map(({ headers }) => headers['webhook-id']);
      expect(new Set(ids).size).toBe(5);
      expect((await deliveriesOf(world)()).every(({ status }) => status === 'delivered')).toBe(true);
    }
  });
});
