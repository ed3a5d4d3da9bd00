import { marshall } from '@aws-sdk/util-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { nameOfEvent, type PayonceEvent } from '../../lambdas/events/domain/event.ts';
import { readEvent } from '../../lambdas/events/http/event-schemas.ts';
import { readStreamRecord } from '../../lambdas/events/store/stream-records.ts';
import { relayTransitions } from '../../lambdas/events/use/relay-transitions.ts';
import { republishRange } from '../../lambdas/events/use/republish-range.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessRecords } from '../../lambdas/once/process-records.ts';
import type { OrderTransition } from '../../lambdas/orders/domain/order-transition.ts';
import { orderTransitionRow } from '../../lambdas/orders/store/order-items.ts';
import type { CreateOrder } from '../../lambdas/orders/use/create-order.ts';
import { readChainViews } from '../../lambdas/views/use/chain-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ProjectedEvents } from '../../lambdas/views/use/projected-events.ts';
import { listEvents, readOwnEvent } from '../../lambdas/views/use/read-event.ts';
import { MemoryEventBus } from '../events/memory-event-bus.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { MemoryViews } from '../views/memory-views.ts';
import { World } from '../world/world.ts';
import { endpointNamed } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('shop', { events: ['order.placed', 'order.completed', 'order.canceled'] });

function recordOf(transition: OrderTransition): unknown {
  const NewImage = marshall(orderTransitionRow(transition), { convertClassInstanceToMap: false });
  const { pk: Keys } = NewImage;
  const record = { eventName: 'INSERT', dynamodb: { SequenceNumber: '1', Keys: { pk: Keys }, NewImage } };
  return JSON.parse(
    JSON.stringify(record, (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
    ),
  );
}

let orders: World;
let webhooks: WebhookWorld;
let views: MemoryViews;

beforeEach(() => {
  orders = new World();
  webhooks = new WebhookWorld();
  views = new MemoryViews();
});

const tools = () => ({
  transitions: orders.store.ledger,
  digest: systemDigest,
  runner: idempotentRunner,
  clock: orders.clock,
  entropy: countingEntropy(),
  views,
});

async function relayed({ orderId }: CreateOrder): Promise<readonly PayonceEvent[]> {
  const transitions = await orders.transitions(orderId);
  const bus = new MemoryEventBus();
  const ports = {
    publisher: bus,
    parking: { park: () => Promise.reject(new Error('an event was parked')) },
    report: () => undefined,
    alarm: () => undefined,
  };
  const records = transitions.map((each) => readStreamRecord(recordOf(each)));
  await relayTransitions(
    { ...tools(), ...ports, relayed: new ProcessRecords(), alarmed: new ProcessRecords() },
    records,
  );
  return bus.published.map((event) => {
    const read = readEvent(nameOfEvent(event.event), JSON.parse(JSON.stringify(event)));
    expect(read).toMatchObject({ kind: 'event' });
    return event;
  });
}

async function canceledLate(): Promise<CreateOrder> {
  const request = orderRequest('late', { source: 'tok_async', items: [{ sku: 'sku_none', quantity: 1 }] });
  const answer = await orders.order(request);
  expect(answer).toMatchObject({ answer: { status: 202 } });
  const { state } = await orders.payment(request);
  await orders.processor.inside.approve(state.payment.chargeId ?? '');
  await orders.resolveFor(2);
  expect((await orders.read(request)).status).toBe('canceled');
  return request;
}

test('a webhook notifies a merchant that an order was canceled after its 202 response', async () => {
  const request = await canceledLate();
  const owner = { tenantId: request.tenantId, mode: request.mode };
  await webhooks.addEndpoints([ENDPOINT], owner);
  // The relay publishes each event twice, and the bus delivers each copy twice.
  const events = [...(await relayed(request)), ...(await relayed(request))];
  for (const event of [...events, ...events]) await webhooks.publish(event);
  await webhooks.drain();
  const reported = webhooks.arrivals.map(({ body }) => JSON.parse(body) as PayonceEvent['event']);
  expect(reported).toMatchObject([
    { type: 'order.placed', version: 1, sequence: 1, data: { object: { id: request.orderId, status: 'processing' } } },
    { type: 'order.canceled', version: 1, data: { object: { id: request.orderId, status: 'canceled' } } },
  ]);
});

describe('the events of an order', () => {
  test('can be listed and read by id only by their owner; the list and the read return the published content', async () => {
    const request = await canceledLate();
    const own = { ...tools(), runner: idempotentRunner };
    const events = await relayed(request);
    for (const event of events) await projectEvent(own, event);
    const caller = { tenantId: request.tenantId, mode: request.mode, scopes: [] } as never;
    const listed = await listEvents(own, caller, { limit: 10 });
    const bodies = listed.kind === 'found' ? listed.rows.map(({ body }) => JSON.parse(body) as { id: string }) : [];
    expect(bodies.toReversed()).toEqual(events.map(({ event }) => event));
    for (const { event } of events) {
      expect(event.id).toMatch(/^evt_ord_[a-z2-7]{32}\d{6}[a-z2-7]{10}$/);
      expect((await readOwnEvent(own, caller, event.id))?.event).toEqual(event);
      expect(await readOwnEvent(own, { ...(caller as object), mode: 'live' } as never, event.id)).toBeUndefined();
    }
    const canceled = await listEvents(own, caller, { type: 'order.canceled', limit: 10 });
    expect(canceled).toMatchObject({ kind: 'found', rows: [{ chainId: request.orderId }] });
  });

  test('are published again if the bus has lost them, unless the projector has already projected them', async () => {
    const request = await canceledLate();
    const transitions = await orders.transitions(request.orderId);
    const own = tools();
    const [placed] = await relayed(request);
    if (placed !== undefined) await projectEvent(own, placed);
    const bus = new MemoryEventBus();
    const at = transitions.map(({ occurredAtMs }) => occurredAtMs);
    const range = { sinceMs: Math.min(...at), untilMs: Math.max(...at) + 1, deadlineMs: Infinity };
    await republishRange({ ...own, publisher: bus, processed: new ProjectedEvents(views) }, range);
    const types = bus.published.map(({ event }) => event.type);
    expect(types.filter((type) => type.startsWith('order.'))).toEqual(['order.canceled']);
  });

  test('are projected to the same rows of the Views that a rebuild derives from the Ledger', async () => {
    const request = await canceledLate();
    const own = tools();
    const events = await relayed(request);
    for (const event of events) await projectEvent(own, event);
    const said = await readChainViews(
      { store: orders.store, orders: orders.store, digest: systemDigest },
      request.orderId,
    );
    for (const row of said?.events
      .flatMap(({ lasting, projectedMark }) => [...lasting, projectedMark])
      .concat(said.events[0]?.heads ?? []) ?? [])
      expect(await views.read(row)).toEqual(row);
    expect(said?.events).toHaveLength(2);
  });
});
