/** Tests the guarantee "safe webhooks". */
import { describe, expect, test } from '@jest/globals';
import type { SQSEvent } from 'aws-lambda';
import { RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import {
  type EndpointList,
  groupOf,
  type WebhookEndpoint,
  withEndpoint,
  withoutEndpoint,
} from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { afterRun, claimedLane, withAnnouncement } from '../../lambdas/webhooks/domain/webhook-lane.ts';
import { runWebhookTasks } from '../../lambdas/webhooks/http/webhook-tasks.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { resendWebhook } from '../../lambdas/webhooks/use/resend-webhook.ts';
import { sweepWebhooks } from '../../lambdas/webhooks/use/sweep-webhooks.ts';
import { wakeLane } from '../../lambdas/webhooks/use/wake-lane.ts';
import { type EndpointChange } from '../../lambdas/webhooks/use/webhook-endpoints.ts';
import type { GroupedTask } from '../../lambdas/webhooks/use/webhooks.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { inTurn, sliceOf, whole } from '../support/slice.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { HANGING, MINUTE_MS, NORMAL, ownerOf, SECOND_MS, Site, START_MS, WORK_MS } from './webhook-site.ts';

const LONE = endpointNamed('lone');
const FINGERPRINT = { version: 1, sha256: new Uint8Array(32) };

/** Returns the duration of the slowest delivery to each endpoint that does not hang, in milliseconds. */
async function slowest(hangingDue: number): Promise<{ lone: number; normal: number; site: Site }> {
  const site = new Site();
  await site.add(HANGING, 'hangs');
  await site.add(LONE, 80);
  await site.add(NORMAL, 80);
  await site.addDue(HANGING, hangingDue);
  await site.addDue(LONE, 1_000);
  const published = new Map<string, number>();
  const publishing = (async () => {
    for (let second = 0; second < 5 * 60; second += 1) {
      const name = `normal-${second}`;
      published.set(eventNamed(name).event.id, site.clock.nowMs());
      await site.publish(NORMAL, name);
      if (hangingDue > 0) await site.publish(HANGING, `more-${second}`);
      await site.clock.sleep(SECOND_MS);
    }
  })();
  await site.pass(6);
  await publishing;
  const at = ({ url }: WebhookEndpoint) => site.arrivals.filter((each) => each.url === url);
  expect([at(LONE).length, at(NORMAL).length, site.failed]).toEqual([1_000, 300, []]);
  const normal = at(NORMAL).map(({ eventId, atMs }) => atMs - (published.get(eventId) ?? 0));
  return { lone: Math.max(...at(LONE).map(({ atMs }) => atMs)) - START_MS, normal: Math.max(...normal), site };
}

/** Number of due deliveries. The lane cannot attempt all of them during the measurement. */
const DUE = whole(20_000, { slice: 1_000 });

/** Defines one of the four longest tests. A slice runs only one of them. */
const longest = (place: 0 | 1 | 2 | 3) => inTurn(test, { place, of: 4, otherwise: test.skip });

describe('a slow or hanging endpoint', () => {
  longest(0)(
    'does not delay other endpoints, even if thousands of its deliveries are due',
    async () => {
      const without = await slowest(0);
      const loaded = await slowest(DUE);
      expect(loaded.normal).toBeLessThanOrEqual(without.normal + SECOND_MS);
      expect(loaded.lone).toBeLessThanOrEqual(without.lone + SECOND_MS);
      // The endpoint gets occasional attempts. Its other deliveries are not queued.
      expect(loaded.site.calls).toBeLessThan(1_300 + 150);
      expect(loaded.site.mostMessages).toBeLessThan(500);
      const { endpoints } = await loaded.site.store.readBook(ownerOf(HANGING));
      expect(endpoints[0]?.slow).toBeDefined();
    },
    300_000,
  );

  test('is isolated during its first attempt, so that later deliveries block no sender', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    await site.publish(HANGING, 'first');
    await site.clock.until(START_MS + 6 * SECOND_MS);
    expect(site.calls).toBe(1);
    for (let made = 0; made < 300; made += 1) await site.publish(HANGING, `later-${made}`);
    await site.clock.until(START_MS + 9 * SECOND_MS);
    // The lane of the endpoint makes up to ten concurrent attempts, in separate executions.
    expect(site.calls).toBeLessThanOrEqual(1 + 10);
    expect((await site.deliveriesOf(HANGING)).filter(({ apart }) => apart === true)).toHaveLength(300);
    // The deliveries wait for their endpoint rather than for a sender, so no alarm is raised.
    await site.pass(60);
    expect(site.waiting).toEqual([]);
  });

  const pressures: readonly [string, EndpointChange][] = [
    ['it begins to hang under load', {}],
    ['its tenant repeatedly enables it', { enabled: true }],
    ['its tenant repeatedly sets its URL', { url: HANGING.url }],
  ];
  longest(1).each(sliceOf(pressures, 3))(
    'occupies all senders for at most the duration of one request when %s',
    async (_what, change) => {
      const site = new Site();
      await site.add(HANGING, 'hangs');
      await site.add(NORMAL, 80);
      const published = new Map<string, number>();
      // After one second, all concurrent executions wait for the hanging endpoint.
      for (let tick = 0; tick < 60; tick += 1) {
        for (let made = 0; made < 10; made += 1) await site.publish(HANGING, `hanging-${tick}-${made}`);
        published.set(eventNamed(`normal-${tick}`).event.id, site.clock.nowMs());
        await site.publish(NORMAL, `normal-${tick}`);
        if (Object.keys(change).length > 0) await site.update(HANGING, change);
        await site.clock.until(site.clock.nowMs() + 500);
      }
      await site.pass(1);
      const waits = site.arrivals.map(({ eventId, atMs }) => [atMs - START_MS, atMs - (published.get(eventId) ?? 0)]);
      expect(waits).toHaveLength(60);
      const held = waits.filter(([, waited = 0]) => waited > SECOND_MS);
      expect(held.length).toBeGreaterThan(0);
      expect(Math.max(...held.map(([at = 0]) => at))).toBeLessThan(11 * SECOND_MS);
    },
  );

  const endings = [
    ['deletes and recreates', 'delete'],
    ['keeps', 'keep'],
    ['deletes during its calls and recreates', 'delete early'],
  ] as const;
  longest(2).each(sliceOf(endings, 3))(
    'delays another tenant twice, and then once per half hour, if it hangs every minute and its tenant %s it',
    async (_what, how) => {
      const site = new Site();
      await site.add(NORMAL, 80);
      const owner = ownerOf(HANGING);
      const change = async (to: (book: EndpointList) => EndpointList): Promise<void> => {
        const was = await site.store.readBook(owner);
        await site.store.write({ book: { was, now: to(was) } });
      };
      const published = new Map<string, number>();
      const watch = async (minute: number, seconds: number): Promise<void> => {
        for (let second = 0; second < seconds; second += 1) {
          const name = `normal-${minute}-${published.size}`;
          published.set(eventNamed(name).event.id, site.clock.nowMs());
          await site.publish(NORMAL, name);
          await site.clock.until(site.clock.nowMs() + SECOND_MS);
        }
      };
      const MINUTES = 60;
      for (let minute = 0; minute < MINUTES; minute += 1) {
        const endpoint = { ...HANGING, id: how === 'keep' ? HANGING.id : endpointNamed(`again-${minute}`).id };
        if (minute === 0 || how !== 'keep') await change((book) => withEndpoint(book, endpoint));
        site.answersIn.set(HANGING.url, 50);
        await site.publish(HANGING, `quick-${minute}`);
        await sweepWebhooks({ ...site.tools, webhooks: site.store, due: site.store });
        await watch(minute, 20);
        site.answersIn.set(HANGING.url, 'hangs');
        for (let made = 0; made < 40; made += 1) await site.publish(HANGING, `hanging-${minute}-${made}`);
        await watch(minute, 3);
        if (how === 'delete early') await change((book) => withoutEndpoint(book, endpoint.id));
        await watch(minute, 12);
        if (how === 'delete') await change((book) => withoutEndpoint(book, endpoint.id));
        site.answersIn.set(HANGING.url, 50);
        await watch(minute, 25);
      }
      const normal = site.arrivals.filter(({ url }) => url === NORMAL.url);
      expect([normal.length, site.failed]).toEqual([60 * MINUTES, []]);
      const late = normal.filter(({ eventId, atMs }) => atMs - (published.get(eventId) ?? 0) > 2 * (WORK_MS + 80));
      const minutes = new Set(
        late.map(({ eventId }) => Math.floor(((published.get(eventId) ?? 0) - START_MS) / MINUTE_MS)),
      );
      // The second delay, and each later one, isolates the tenant: for half an hour, all its deliveries go to lanes.
      expect([...minutes].filter((minute) => minute > 1 && minute < 31)).toEqual([]);
      expect(minutes.size).toBeLessThanOrEqual(3);
      expect(minutes.size).toBeGreaterThan(0);
    },
    120_000,
  );

  test('gets each delivery of its backlog once after it recovers, and then has no lane', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    await site.addDue(HANGING, 500);
    await site.pass(30);
    expect(site.arrivals).toEqual([]);
    expect((await site.deliveriesOf(HANGING)).every(({ status, tries }) => status === 'pending' && tries < 10)).toBe(
      true,
    );
    site.answersIn.set(HANGING.url, 50);
    await site.pass(6 * 60);
    expect(site.arrivals).toHaveLength(500);
    expect((await site.deliveriesOf(HANGING)).every(({ status }) => status === 'delivered')).toBe(true);
    const { endpoints } = await site.store.readBook(ownerOf(HANGING));
    expect(endpoints[0]?.slow).toBeUndefined();
    expect((await site.store.readLane(HANGING.id))?.dueAtMs).toBeUndefined();
    expect(await site.store.due(Number.MAX_SAFE_INTEGER, 8)).toEqual([]);
  });

  test('gets a resend at the next attempt of its lane, within a quarter of an hour', async () => {
    const site = new Site();
    await site.add(HANGING, 0);
    await site.publish(HANGING, 'delivered');
    await site.pass(1);
    site.answersIn.set(HANGING.url, 'hangs');
    await site.publish(HANGING, 'waits');
    await site.pass(3 * 60);
    site.answersIn.set(HANGING.url, 50);
    const delivered = (await site.deliveriesOf(HANGING)).find(({ status }) => status === 'delivered');
    const asked = { operationId: storedOperationId('wh_again'), fingerprint: FINGERPRINT, cause: BY_REQUEST };
    const resend = { ...asked, caller: ownerOf(HANGING), endpointId: HANGING.id, deliveryId: delivered?.id ?? '' };
    expect((await resendWebhook(site.tools, resend)).kind).toBe('first');
    await site.clock.until(site.clock.nowMs() + SECOND_MS);
    expect(site.arrivals).toHaveLength(1);
    await site.pass(15);
    expect(site.arrivals.filter(({ eventId }) => eventId === delivered?.eventId)).toHaveLength(2);
  });

  longest(3)(
    'is disabled after three days although its deliveries have attempts left',
    async () => {
      const site = new Site();
      await site.add(HANGING, 'hangs');
      await site.addDue(HANGING, 300);
      await site.pass(3 * 24 * 60 + 60);
      const { endpoints } = await site.store.readBook(ownerOf(HANGING));
      expect(endpoints[0]?.disabled?.reason).toBe('failing');
      await site.pass(60);
      expect(new Set((await site.deliveriesOf(HANGING)).map(({ status }) => status))).toEqual(new Set(['canceled']));
      expect(await site.store.dueInLane(HANGING.id, 5)).toEqual([]);
    },
    120_000,
  );

  test('gets all readable deliveries when it responds again; an unreadable one becomes a dead letter', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    await site.addDue(HANGING, 30);
    await site.pass(4);
    const [unreadable] = await site.deliveriesOf(HANGING);
    const readDelivery = site.store.readDelivery.bind(site.store);
    site.store.readDelivery = async (endpointId, id) => {
      if (id === unreadable?.id) throw new TerminalError('row_unreadable', 'written by another version');
      return readDelivery(endpointId, id);
    };
    site.answersIn.set(HANGING.url, 50);
    await site.pass(60);
    expect(new Set(site.arrivals.map(({ eventId }) => eventId)).size).toBe(29);
    expect(site.failedMessages).toContainEqual({ kind: 'attempt', endpointId: HANGING.id, deliveryId: unreadable?.id });
    expect(await site.store.dueInLane(HANGING.id, 5)).toEqual([]);
  });

  test('has failed messages only for the one delivery on which a bug in Payonce throws', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    await site.addDue(HANGING, 3);
    await site.pass(1);
    const letter = (await site.deliveriesOf(HANGING)).find(({ apart }) => apart === true);
    const readDelivery = site.store.readDelivery.bind(site.store);
    site.store.readDelivery = async (endpointId, id) => {
      if (id === letter?.id) throw new TypeError('a bug');
      return readDelivery(endpointId, id);
    };
    await site.pass(60);
    const failed = { kind: 'attempt', endpointId: HANGING.id, deliveryId: letter?.id };
    expect(site.failedMessages).toContainEqual(failed);
    expect(site.failedMessages).toEqual(site.failedMessages.map(() => failed));
  });

  test.each([
    [new TypeError('a bug'), 5, { parked: ['failed'], again: 0, waits: 0 }],
    [new TypeError('a bug'), 4, { parked: [], again: 1, waits: 0 }],
    [new RetryableError('store_unavailable', 'not now'), 80, { parked: [], again: 0, waits: 1 }],
  ])('loses nothing if a message fails in Payonce with %s, at attempt %i', async (fault, tries, expected) => {
    const site = new Site();
    site.store.readDelivery = async () => {
      throw fault;
    };
    const body = JSON.stringify({ kind: 'attempt', endpointId: HANGING.id, deliveryId: 'whd_1' });
    const attributes = { ApproximateReceiveCount: '2' };
    const messageAttributes = { failures: { stringValue: String(tries - 1) } };
    const Records = [{ messageId: 'm', body, attributes, messageAttributes }];
    const { batchItemFailures } = await runWebhookTasks(site.tools, { Records } as unknown as SQSEvent);
    const { parked, failedMessages } = site;
    expect({ parked, again: failedMessages.length, waits: batchItemFailures.length }).toEqual(expected);
  });

  test('is marked as slow after its first attempt, even if a rival changes the endpoint list concurrently', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    const write = site.store.write.bind(site.store);
    let rivals = 0;
    site.store.write = async (change) => {
      if (change.book?.now.endpoints[0]?.slow !== undefined && rivals === 0) {
        rivals += 1;
        const was = await site.store.readBook(ownerOf(HANGING));
        await write({ book: { was, now: { ...was, revision: was.revision + 1 } } });
      }
      return write(change);
    };
    await site.publish(HANGING, 'first');
    await site.clock.until(site.clock.nowMs() + 15 * SECOND_MS);
    expect(rivals).toBe(1);
    expect((await site.store.readBook(ownerOf(HANGING))).endpoints[0]?.slow).toBeDefined();
  });

  test('makes the sweep fail if its deliveries cannot be read', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    await site.addDue(HANGING, 102);
    site.store.readDelivery = async () => Promise.reject(new TerminalError('store_refused', 'no permission'));
    await expect(sweepWebhooks({ ...site.tools, webhooks: site.store, due: site.store })).rejects.toThrow(
      'no permission',
    );
  });

  test('gets a formerly unreadable delivery from its lane when the dead letter is redriven after a fix', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    await site.addDue(HANGING, 3);
    await site.pass(1);
    const unreadable = (await site.deliveriesOf(HANGING)).find(({ apart }) => apart === true);
    const readDelivery = site.store.readDelivery.bind(site.store);
    site.store.readDelivery = async (endpointId, id) => {
      if (id === unreadable?.id) throw new TerminalError('row_unreadable', 'written by another version');
      return readDelivery(endpointId, id);
    };
    await site.pass(30);
    const letter = { kind: 'attempt', endpointId: HANGING.id, deliveryId: unreadable?.id ?? '' } as const;
    expect(site.failedMessages).toContainEqual(letter);
    site.store.readDelivery = readDelivery;
    await site.tools.tasks.enqueue([{ task: letter, group: groupOf(ownerOf(HANGING)) }], 0);
    await site.pass(1);
    site.answersIn.set(HANGING.url, 50);
    await site.pass(12 * 60);
    expect(site.arrivals).toHaveLength(3);
  });

  test('has its unreadable delivery dead-lettered, even if the queue is unavailable at first', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    await site.addDue(HANGING, 3);
    await site.pass(1);
    const unreadable = (await site.deliveriesOf(HANGING)).find(({ apart }) => apart === true);
    const letter = { kind: 'attempt', endpointId: HANGING.id, deliveryId: unreadable?.id ?? '' } as const;
    const readDelivery = site.store.readDelivery.bind(site.store);
    site.store.readDelivery = async (endpointId, id) => {
      if (id === letter.deliveryId) throw new TerminalError('row_unreadable', 'written by another version');
      return readDelivery(endpointId, id);
    };
    const enqueue = site.tools.tasks.enqueue.bind(site.tools.tasks);
    let refused = 0;
    site.tools.tasks.enqueue = async (tasks, delaySeconds) => {
      if (tasks.some(({ task }) => task.kind === 'attempt') && refused === 0) {
        refused += 1;
        throw new RetryableError('injected_throttle', 'the queue is unavailable');
      }
      return enqueue(tasks, delaySeconds);
    };
    await site.pass(60);
    expect(refused).toBe(1);
    expect(site.failedMessages).toContainEqual(letter);
  });

  test('gets a retry from its lane on time, even if another delivery is due hours later', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    const far = newDelivery(
      systemDigest,
      ownerOf(HANGING),
      { ...HANGING, slow: { sinceMs: START_MS } },
      webhookMessage(eventNamed('far', START_MS)),
      START_MS + 20 * 60 * MINUTE_MS,
    );
    await site.store.write({ deliveries: [{ now: far }] });
    await site.publish(HANGING, 'near');
    await site.clock.until(site.clock.nowMs() + 5 * SECOND_MS);
    site.answersIn.set(HANGING.url, 'fails');
    await site.pass(3);
    site.answersIn.set(HANGING.url, 50);
    await site.pass(30);
    expect(site.arrivals).toHaveLength(1);
  });

  test('receives a delivery that is added to its lane after a lane run found nothing due for hours', async () => {
    const site = new Site();
    await site.add(HANGING, 50);
    const endpoint = { ...HANGING, slow: { sinceMs: START_MS } };
    const apart = (name: string, dueAtMs: number) =>
      newDelivery(systemDigest, ownerOf(HANGING), endpoint, webhookMessage(eventNamed(name, START_MS)), dueAtMs);
    await site.store.write({ deliveries: [{ now: apart('far', START_MS + 20 * 60 * MINUTE_MS) }] });
    await wakeLane({ webhooks: site.store, clock: site.clock }, ownerOf(HANGING), HANGING.id);
    const lane = { kind: 'lane', endpointId: HANGING.id } as const;
    await site.tools.tasks.enqueue([{ task: lane, group: groupOf(ownerOf(HANGING)) }], 0);
    await site.clock.until(site.clock.nowMs() + SECOND_MS);
    await site.store.write({ deliveries: [{ now: apart('late', site.clock.nowMs()) }] });
    await site.pass(15);
    expect(site.arrivals).toHaveLength(1);
  });

  test('gets a delivery within a second after its URL is changed to a fast server, 16 minutes after its first delivery', async () => {
    const site = new Site();
    await site.add(HANGING, 'hangs');
    await site.publish(HANGING, 'first');
    await site.clock.until(site.clock.nowMs() + 16 * MINUTE_MS);
    await site.update(HANGING, { url: NORMAL.url });
    await site.publish(HANGING, 'second');
    await site.clock.until(site.clock.nowMs() + SECOND_MS);
    expect(site.arrivals).toHaveLength(1);
  });
});

test('an endpoint gets its next delivery within two seconds after a single slow response', async () => {
  const site = new Site();
  await site.add(NORMAL, 6 * SECOND_MS);
  await site.publish(NORMAL, 'slow');
  await site.clock.until(site.clock.nowMs() + 10 * SECOND_MS);
  site.answersIn.set(NORMAL.url, 50);
  await site.publish(NORMAL, 'next');
  await site.clock.until(site.clock.nowMs() + 2 * SECOND_MS);
  expect(site.arrivals).toHaveLength(2);
});

test('deliveries that wait more than half an hour for a sender are counted as overdue once per sweep round', async () => {
  const site = new Site();
  await site.add(NORMAL, 50);
  await site.addDue(NORMAL, 90);
  const tools = { ...site.tools, tasks: { enqueue: async () => undefined } };
  for (let minute = 3; minute < 43; minute += 1) {
    await sweepWebhooks(tools);
    await site.clock.until(site.clock.nowMs() + MINUTE_MS);
  }
  expect(site.waiting).toEqual([90]);
});

test('two overlapping sweeps queue each delivery once, and only a later round queues it again', async () => {
  const site = new Site();
  await site.add(NORMAL, 50);
  await site.addDue(NORMAL, 90);
  const queued: GroupedTask[] = [];
  const tools = {
    ...site.tools,
    tasks: { enqueue: async (tasks: readonly GroupedTask[]) => void queued.push(...tasks) },
  };
  await Promise.all([sweepWebhooks(tools), sweepWebhooks(tools)]);
  await sweepWebhooks(tools);
  expect(queued).toHaveLength(90);
  await site.clock.until(site.clock.nowMs() + 11 * MINUTE_MS);
  await sweepWebhooks(tools);
  expect(queued).toHaveLength(180);
});

test('a lane run without attempts does not change the number of consecutive runs with a slow, failed attempt', () => {
  const lane = { ...OWNER, endpointId: 'we_1', revision: 1, hung: 3, wokenAtMs: 0 };
  const run = { hung: false, tried: 0, isSlow: true };
  expect(afterRun(lane, lane, run, 1_000).hung).toBe(3);
  expect(afterRun(lane, lane, { ...run, tried: 1 }, 1_000).hung).toBe(0);
  expect(afterRun(lane, lane, { ...run, hung: true, tried: 1 }, 1_000)).toMatchObject({ hung: 4, dueAtMs: 301_000 });
});

test('a lane runs again if it was announced during its run, even by a process whose clock is behind', () => {
  const held = claimedLane(withAnnouncement(undefined, OWNER, 'we_1', 60_000), 60_000);
  if (held === undefined) throw new Error('the lane was not claimed');
  const run = { hung: false, tried: 1, isSlow: false };
  const woken = withAnnouncement(held, OWNER, 'we_1', 1_000);
  expect(afterRun(woken, held, run, 61_000).dueAtMs).toBe(61_000);
  expect(afterRun(held, held, run, 61_000).dueAtMs).toBeGreaterThan(61_000);
});
