import { describe, expect, test } from '@jest/globals';
import { EventNames } from '../../lambdas/events/contract.ts';
import { readEvent } from '../../lambdas/events/http/event-schemas.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { AttemptResult } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { endpointOf } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { noticeOf } from '../../lambdas/webhooks/domain/webhook-notice.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import { type EndpointChange, updateEndpoint } from '../../lambdas/webhooks/use/webhook-endpoints.ts';
import type { WebhookRequest } from '../../lambdas/webhooks/use/webhooks.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');
const OTHER = endpointNamed('mail');
const FAILING = 'webhook_endpoint.failing';
const RECOVERED = 'webhook_endpoint.recovered';
const DISABLED = 'webhook_endpoint.disabled';

const answered = (status: number): AttemptResult => ({ kind: 'answered', status, excerpt: '' });
const isNotice = ({ body }: WebhookRequest): boolean => body.includes('"type":"webhook_endpoint.');
const publishedTypes = (world: WebhookWorld) => world.published.map(({ event }) => event.type);
const noticesAt = (world: WebhookWorld, url: string) =>
  world.arrivals
    .filter((each) => each.url === url && isNotice(each))
    .map(({ body }) => (JSON.parse(body) as { readonly type: string }).type);

async function stateOf(world: WebhookWorld, { id } = ENDPOINT) {
  return endpointOf(await world.store.webhooks.readBook(OWNER), id);
}

async function deliveriesOf(world: WebhookWorld, { id } = ENDPOINT) {
  return world.store.webhooks.listDeliveries(id, { limit: 20 });
}

function update({ store: { webhooks }, clock }: WebhookWorld, change: EndpointChange): Promise<unknown> {
  const tools = { webhooks, clock, addresses: { refusal: async () => undefined } };
  return updateEndpoint(tools, { owner: OWNER, cause: BY_REQUEST, endpointId: ENDPOINT.id, change });
}

async function worldWith(answer: (request: WebhookRequest) => number): Promise<WebhookWorld> {
  const world = new WebhookWorld();
  await world.addEndpoints([ENDPOINT, OTHER]);
  world.answer = (request) => answered(answer(request));
  return world;
}

/** Passes at most an hour, until each delivery has `times` attempts. */
async function attempted(world: WebhookWorld, times: number, names = ['first']): Promise<void> {
  for (const name of names) await world.publish(eventNamed(name, world.clock.nowMs()));
  await world.drain();
  for (let minute = 0; minute < 60; minute += 1) {
    const attempts = (await deliveriesOf(world)).map((each) => each.attempts.length);
    if (attempts.every((count) => count >= times)) return;
    await world.pass(1);
  }
}

describe('the events about the state of an endpoint', () => {
  test('reach the bus and the other endpoints once after three failed attempts, and once when the endpoint has recovered', async () => {
    let status = 503;
    const world = await worldWith(({ url }) => (url === ENDPOINT.url ? status : 204));
    const beganAtMs = world.clock.nowMs();
    await attempted(world, 2);
    await world.pass(1);
    expect([publishedTypes(world), (await stateOf(world))?.failing]).toEqual([[], undefined]);
    await attempted(world, 3, []);
    await world.pass(1);
    const failing_since = beganAtMs / 1000;
    expect(world.published).toMatchObject([
      {
        tenant: OWNER.tenantId,
        mode: 'test',
        event: {
          type: FAILING,
          version: 1,
          sequence: 1,
          data: { object: { id: ENDPOINT.id, url: ENDPOINT.url, enabled: true, disabled: null, failing_since } },
        },
      },
    ]);
    expect((await stateOf(world))?.failing).toEqual({ sinceMs: beganAtMs });

    status = 204;
    await world.pass(60);
    expect(publishedTypes(world)).toEqual([FAILING, RECOVERED]);
    expect(world.published[1]?.event).toMatchObject({
      sequence: 2,
      data: { object: { id: ENDPOINT.id, failing_since: null } },
    });
    expect((await stateOf(world))?.failing).toBeUndefined();
    expect(noticesAt(world, OTHER.url)).toEqual([FAILING, RECOVERED]);
    expect(noticesAt(world, ENDPOINT.url)).toEqual([]);
    const names = [EventNames.webhookEndpointFailing, EventNames.webhookEndpointRecovered] as const;
    const read = names.map((name, index) => readEvent(name, JSON.parse(JSON.stringify(world.published[index]))));
    expect(read.map(({ kind }) => kind)).toEqual(['event', 'event']);
  });

  test('have new ids even if their sequence numbers occur again after a restore of the Registry', () => {
    const idAt = (atMs: number) => noticeOf(systemDigest, OWNER, { ...ENDPOINT, changes: 1 }, 'failing', atMs).eventId;
    expect(idAt(1_000)).toBe(idAt(1_000));
    expect(idAt(2_000)).not.toBe(idAt(1_000));
  });

  test('are not published for an endpoint that rejects one event, but accepts others', async () => {
    const poison = eventNamed('first');
    const world = await worldWith(({ headers }) => (headers['webhook-id'] === poison.event.id ? 500 : 204));
    await attempted(world, 1);
    await world.publish(eventNamed('good', world.clock.nowMs() + 1));
    await world.pass(120);
    expect(
      (await deliveriesOf(world)).find(({ eventId }) => eventId === poison.event.id)?.attempts.length,
    ).toBeGreaterThan(3);
    expect(publishedTypes(world)).toEqual([]);
  });

  test('are not published for a URL that was changed during the third failed attempt', async () => {
    const world = await worldWith(() => 503);
    await attempted(world, 2);
    world.clock.advance(40 * 60_000);
    const [delivery] = await deliveriesOf(world);
    const post = async (): Promise<AttemptResult> => {
      await update(world, { url: 'https://new.shop.com/hooks' });
      return answered(503);
    };
    const tools = world.webhookTools(world.actor('sender'));
    await sendWebhook({ ...tools, transport: { post } }, ENDPOINT.id, delivery?.id ?? '');
    expect((await deliveriesOf(world))[0]?.attempts).toHaveLength(3);
    await world.pass(1);
    expect(publishedTypes(world)).toEqual([]);
  });

  test('are published when the endpoint is disabled, and when it has recovered after it was enabled', async () => {
    let status = 410;
    const world = await worldWith(({ url }) => (url === ENDPOINT.url ? status : 204));
    await attempted(world, 1);
    await world.pass(1);
    status = 204;
    await update(world, { enabled: true });
    await world.pass(1);
    expect(publishedTypes(world)).toEqual([DISABLED]);
    await world.publish(eventNamed('second', world.clock.nowMs()));
    await world.drain();
    await world.pass(1);
    expect(publishedTypes(world)).toEqual([DISABLED, RECOVERED]);
    expect(noticesAt(world, OTHER.url)).toEqual([DISABLED, RECOVERED]);
  });

  test('cause no further events when other endpoints reject them', async () => {
    const world = await worldWith((request) => (request.url === ENDPOINT.url || isNotice(request) ? 503 : 204));
    await attempted(world, 3);
    await world.pass(12 * 60);
    expect(noticesAt(world, OTHER.url).length).toBeGreaterThan(3);
    expect(publishedTypes(world)).toEqual([FAILING]);
    expect(await stateOf(world, OTHER)).not.toHaveProperty('failing');
  });

  test('are published once when two senders see the change at the same time', async () => {
    let status = 503;
    const world = await worldWith(({ url }) => (url === ENDPOINT.url ? status : 204));
    await attempted(world, 2, ['first', 'second']);
    const sendAll = async (): Promise<void> => {
      world.clock.advance(40 * 60_000);
      world.queue = [];
      const ids = (await deliveriesOf(world)).map(({ id }) => id);
      await Promise.all(ids.map((id) => sendWebhook(world.webhookTools(world.actor('sender')), ENDPOINT.id, id)));
    };
    await sendAll();
    expect((await deliveriesOf(world)).map(({ attempts }) => attempts.length)).toEqual([3, 3]);
    status = 204;
    await sendAll();
    expect((await deliveriesOf(world)).map(({ status: is }) => is)).toEqual(['delivered', 'delivered']);
    await Promise.all([world.sweep(), world.sweep()]);
    await world.pass(30);
    expect(publishedTypes(world).toSorted()).toEqual([FAILING, RECOVERED]);
    expect(noticesAt(world, OTHER.url).toSorted()).toEqual([FAILING, RECOVERED]);
  });

  test('wait while the bus is unavailable, and are published again with the same id if the sweep crashes', async () => {
    const world = await worldWith(({ url }) => (url === ENDPOINT.url ? 503 : 204));
    world.isBusDown = true;
    await attempted(world, 3);
    await world.pass(30);
    expect(publishedTypes(world)).toEqual([]);
    world.isBusDown = false;
    const { webhooks } = world.store;
    const finish = webhooks.finish.bind(webhooks);
    webhooks.finish = async () => Promise.reject(new Error('the process died'));
    for (let minute = 0; minute < 15 && world.published.length === 0; minute += 1)
      await world.pass(1).catch(() => undefined);
    webhooks.finish = finish;
    await world.pass(30);
    expect(new Set(world.published.map(({ event }) => event.id)).size).toBe(1);
    expect(world.published).toHaveLength(2);
    const due = await webhooks.due(Number.MAX_SAFE_INTEGER - 1, 400);
    expect(due.filter(({ task }) => task.kind === 'notice')).toEqual([]);
  });
});

/** Faults begin with the third attempt. */
async function history(faults: readonly PlannedFault[]): Promise<HistoryRun> {
  const calm = await worldWith(({ url }) => (url === ENDPOINT.url ? 503 : 204));
  await attempted(calm, 2);
  const event = eventNamed('first', Date.UTC(2026, 2, 1, 12));
  const plan = new FaultPlan(faults);
  const world = new WebhookWorld({ plan, store: calm.store, nowMs: calm.clock.nowMs() });
  world.appendToLedger(event);
  let status = 503;
  world.answer = ({ url }) => answered(url === ENDPOINT.url ? status : 204);
  const until = async (isReached: () => Promise<boolean>): Promise<void> => {
    for (let minute = 0; minute < 240 && !(await isReached()); minute += 1) await world.pass(1);
  };
  await until(async () => (await stateOf(world))?.failing !== undefined);
  status = 204;
  await until(async () => (await stateOf(world))?.failing === undefined);
  const calls = [...plan.calls];
  await world.pass(15);

  const violations: string[] = [];
  const types = publishedTypes(world).toSorted();
  if (types.join() !== [FAILING, RECOVERED].join()) violations.push(`published ${types.join() || 'nothing'}`);
  const notices = (await deliveriesOf(world, OTHER))
    .map(({ type }) => type)
    .filter((type) => type.startsWith('webhook'));
  if (notices.toSorted().join() !== types.join())
    violations.push(`the other endpoint gets ${notices.join() || 'nothing'}`);
  if (noticesAt(world, ENDPOINT.url).length > 0) violations.push('the endpoint gets its own event');
  const pending = (await deliveriesOf(world)).filter((each) => each.status !== 'delivered');
  if (pending.length > 0) violations.push('the event is not delivered');
  return { calls, violations };
}

test('each change of an endpoint’s state publishes its event, despite any single fault at any call', async () => {
  const { histories, findings } = await surveyFaults(history, { faults: 1 });
  expect(findings.slice(0, 3)).toEqual([]);
  expect(histories).toBeGreaterThan(50);
});
