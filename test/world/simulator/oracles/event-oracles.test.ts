import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { eventOf } from '../../../../lambdas/events/domain/event.ts';
import { RegistryRow, ViewsRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../../../lambdas/once/idempotent-runner.ts';
import { isOutcome } from '../../../../lambdas/payments/domain/payment.ts';
import { detailsOf } from '../../../../lambdas/payments/domain/transition.ts';
import type { CreatePayment } from '../../../../lambdas/payments/use/create-payment.ts';
import { DynamoDbViews } from '../../../../lambdas/views/store/dynamodb-views.ts';
import { closeDays } from '../../../../lambdas/views/use/close-days.ts';
import { projectEvent } from '../../../../lambdas/views/use/project-event.ts';
import { newDelivery } from '../../../../lambdas/webhooks/domain/webhook-delivery.ts';
import { endpointEvent, noticeOf } from '../../../../lambdas/webhooks/domain/webhook-notice.ts';
import { bookRow, deliveryRow } from '../../../../lambdas/webhooks/store/webhook-items.ts';
import { change, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { countingEntropy } from '../../../support/counting-entropy.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const DAY_MS = 24 * 60 * 60_000;
const entropy = countingEntropy();

let harness: World;
let world: ReturnType<typeof watched>;
let views: DynamoDbViews;
let request: CreatePayment;
beforeEach(async () => {
  harness = new World();
  world = watched(harness);
  const { client } = harness.store.database;
  views = new DynamoDbViews(client, TABLES.views, { clock: harness.clock, entropy });
  request = paymentRequest('published');
  await harness.pay(request);
  await harness.change(change(request, 'part', { kind: 'refund', amountMinor: 300 }));
});

async function publish(): Promise<void> {
  const { transitions, first } = await harness.chain(request);
  for (const transition of transitions.filter(({ type }) => isOutcome(type))) {
    const event = eventOf(systemDigest, transition, detailsOf(first));
    world.published.push({ detailType: event.event.type, detail: event, atMs: harness.clock.nowMs() });
    await projectEvent({ views, runner: idempotentRunner }, event);
  }
}

const named = () => [...new Set(world.all().map(({ oracle }) => oracle))];

type Item = Readonly<Record<string, unknown>>;

function rowOf(prefix: string): Item {
  const [row] = harness.store.database.items(TABLES.views, prefix);
  if (row === undefined) throw new Error(`no row begins with ${prefix}`);
  return row;
}

const putView = (item: Item) =>
  harness.store.database.client.send(new PutCommand({ TableName: TABLES.views, Item: item }));
const remove = ({ pk, sk }: Item) =>
  harness.store.database.client.send(new DeleteCommand({ TableName: TABLES.views, Key: { pk, sk } }));

test('a system that has published and projected all events violates no oracle', async () => {
  await publish();
  harness.clock.advance(3 * DAY_MS);
  const { tenantId, mode } = request;
  await closeDays({ views, clock: harness.clock, entropy }, { tenantId, mode }, 9);
  expect(world.all()).toEqual([]);
});

test('an event that was never published violates the oracles of events, lists, balances and volumes', () => {
  const folds = ['lists', 'balances', 'volumes'].map((what) => `${what} are a fold of the Ledger`);
  expect(named()).toEqual(['I4 events', ...folds]);
});

test('an event may be too old to be published, but its payment must still be in the Views', () => {
  const all = { sinceMs: 0, untilMs: Number.POSITIVE_INFINITY };
  Object.assign(world.world, { mishaps: { ...world.world.mishaps, forgotten: [all] } });
  expect(named()).toEqual(['lists', 'balances', 'volumes'].map((what) => `${what} are a fold of the Ledger`));
});

test('an event that is not in the Ledger violates an oracle', async () => {
  await publish();
  const { detail, ...rest } = world.published[0] ?? { detail: {} };
  const { event, ...owned } = detail as { event: object };
  world.published.push({ detailType: '', atMs: 0, ...rest, detail: { ...owned, event: { ...event, sequence: 9 } } });
  expect(named()).toEqual(['I4 events']);
});

test('an endpoint’s event that was never published violates an oracle', async () => {
  await publish();
  const endpoint = { id: 'we_1', url: 'https://shop.com', events: [], secrets: [], createdAtMs: 0 };
  const { tenantId, mode } = request;
  const notice = noticeOf(systemDigest, { tenantId, mode }, endpoint, 'failing', 0);
  await harness.store.webhooks.write({ notice });
  expect(named()).toContain('I4 events');
  world.published.push({ detailType: '', detail: endpointEvent(notice), atMs: 0 });
  expect(named()).not.toContain('I4 events');
});

describe('the Views', () => {
  beforeEach(publish);

  test('must have every payment', async () => {
    await remove(rowOf(ViewsRow.payment));
    expect(named()).toEqual(['lists are a fold of the Ledger']);
  });

  test('must have the newest state of a payment', async () => {
    const row = rowOf(ViewsRow.payment);
    await putView({ ...row, body: '{"status":"processing"}' });
    expect(named()).toEqual(['lists are a fold of the Ledger']);
  });

  test('must have the newest event of a payment', async () => {
    const row = rowOf(ViewsRow.payment);
    await putView({ ...row, sequence: 2 });
    expect(named()).toEqual(['lists are a fold of the Ledger']);
  });

  test('must have every event', async () => {
    await remove(rowOf(ViewsRow.event));
    expect(named()).toEqual(['lists are a fold of the Ledger', 'volumes are a fold of the Ledger']);
  });

  test('must have every entry', async () => {
    await remove(rowOf(`${ViewsRow.book}${request.tenantId}#${request.mode}#all`));
    expect(named()).toEqual(['balances are a fold of the Ledger']);
  });

  test('must have the total of each closed day', async () => {
    harness.clock.advance(3 * DAY_MS);
    const { tenantId, mode } = request;
    await closeDays({ views, clock: harness.clock, entropy }, { tenantId, mode }, 9);
    const row = rowOf(ViewsRow.total);
    const sums = [{ account: 'refunds', currency: 'EUR', debit: '299', credit: '0' }];
    const { volumes } = JSON.parse(String(row['body'])) as { volumes: unknown };
    await putView({ ...row, body: JSON.stringify({ kind: 'total', token: 't', sums, volumes }) });
    expect(named()).toEqual(['balances are a fold of the Ledger']);
  });

  test('must have the amount of every event', async () => {
    const row = rowOf(ViewsRow.event);
    await putView({ ...row, body: String(row['body']).replace(/"amountMinor":\d+/, '"amountMinor":7') });
    expect(named()).toEqual(['volumes are a fold of the Ledger']);
  });

  test('must have the volumes of each closed day', async () => {
    harness.clock.advance(3 * DAY_MS);
    const { tenantId, mode } = request;
    await closeDays({ views, clock: harness.clock, entropy }, { tenantId, mode }, 9);
    const row = rowOf(ViewsRow.total);
    await putView({ ...row, body: String(row['body']).replace('"count":1', '"count":2') });
    expect(named()).toEqual(['volumes are a fold of the Ledger']);
  });
});

describe('an endpoint', () => {
  const endpoint = { id: 'we_one', url: 'https://shop.example', events: ['*' as const], secrets: [], createdAtMs: 0 };
  const put = (item: Item) =>
    harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item: item }));

  beforeEach(async () => {
    await publish();
    const { tenantId, mode } = request;
    await put(bookRow({ tenantId, mode, revision: 1, endpoints: [endpoint] }));
    for (const { detail, atMs } of world.published) {
      const { id, type } = (detail as { event: { id: string; type: string } }).event;
      const message = { eventId: id, type, occurredAtMs: atMs };
      const delivery = newDelivery(systemDigest, { tenantId, mode }, endpoint, message, atMs);
      const { dueAtMs: _due, ...sent } = delivery;
      await put(deliveryRow({ ...sent, status: 'delivered', tries: 1, deliveredAtMs: atMs }));
      world.webhooks.push({ endpointId: endpoint.id, eventId: id, atMs, body: '{}', accepted: true });
    }
  });

  test('violates no oracle if it has received every event', () => {
    expect(world.all()).toEqual([]);
  });

  test('must have a delivery for each event', async () => {
    const [row] = harness.store.database.items(TABLES.registry, RegistryRow.webhookDelivery);
    const Key = { pk: row?.['pk'], sk: row?.['sk'] };
    await harness.store.database.client.send(new DeleteCommand({ TableName: TABLES.registry, Key }));
    expect(named()).toEqual(['webhooks deliver every event']);
  });

  test('must receive all events that happen while it is enabled', async () => {
    const HOUR_MS = 60 * 60_000;
    const { tenantId, mode } = request;
    const disabled = { atMs: harness.clock.nowMs(), reason: 'requested' as const };
    const write = (revision: number, isDisabled: boolean) =>
      put(bookRow({ tenantId, mode, revision, endpoints: [{ ...endpoint, ...(isDisabled ? { disabled } : {}) }] }));
    const happen = async (key: string) => {
      harness.clock.advance(HOUR_MS);
      request = paymentRequest(key);
      await harness.pay(request);
      await publish();
      harness.clock.advance(HOUR_MS);
    };
    await write(2, true);
    await happen('while_disabled');
    await write(3, false);
    expect(named()).toEqual([]);
    await happen('later');
    await write(4, true);
    await write(5, false);
    expect(world.all()).toEqual([
      {
        oracle: 'webhooks deliver every event',
        what: `never received payment.completed of ${request.paymentId}`,
        about: endpoint.id,
      },
    ]);
  });

  test('must have accepted each delivery that is recorded as delivered', () => {
    world.webhooks.pop();
    expect(named()).toEqual(['webhooks deliver every event']);
  });

  test.each([
    [500, ['webhooks deliver every event']],
    [410, []],
  ])(
    'may end a delivery after one attempt only by responding 410 Gone (status: %d, violations: %j)',
    async (status, wrong) => {
      const [row] = harness.store.database.items(TABLES.registry, RegistryRow.webhookDelivery);
      await put({ ...row, status: 'failed', attempts: [{ startedAtMs: 1, durationMs: 1, status }] });
      expect(named()).toEqual(wrong);
    },
  );

  test('must have no pending delivery once the system is quiet', async () => {
    const [row] = harness.store.database.items(TABLES.registry, RegistryRow.webhookDelivery);
    await put({ ...row, status: 'pending', dueAtMs: 1 });
    expect(named()).toEqual(['webhooks deliver every event']);
  });
});
