import { beforeEach, describe, expect, test } from '@jest/globals';
import { ownerToken, storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import {
  type Delivery,
  dueAndSweepTimes,
  idsBefore,
  newDelivery,
  withoutAttempt,
  withRequestedAttempt,
} from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { type EndpointList, groupOf, rotated, withEndpoint } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { withAnnouncement } from '../../lambdas/webhooks/domain/webhook-lane.ts';
import { noticeOf } from '../../lambdas/webhooks/domain/webhook-notice.ts';
import type { WebhookReplay } from '../../lambdas/webhooks/domain/webhook-replay.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import type { DueWebhooks, FailingEndpoints, WebhookStore } from '../../lambdas/webhooks/use/webhooks.ts';
import { endpointNamed, eventNamed } from './webhook-fixtures.ts';

let made = 0;

export function describeWebhookStore(
  name: string,
  open: () => Promise<WebhookStore & DueWebhooks & FailingEndpoints>,
): void {
  describe(`in the ${name} store of webhooks,`, () => {
    const nowMs = Date.UTC(2026, 2, 1, 12);
    /** Time at which the sweep queues the tasks that are due now, in Unix milliseconds. */
    const { sweepAtMs: dueMs } = dueAndSweepTimes(nowMs, nowMs);
    let store: WebhookStore & DueWebhooks & FailingEndpoints;
    let owner: { tenantId: ReturnType<typeof tenantId>; mode: 'test' };
    let run = '';
    beforeEach(async () => {
      store = await open();
      made += 1;
      run = `${name}-${made}`;
      owner = { tenantId: tenantId(`ten_${run}`), mode: 'test' };
    });

    const delivery = (event: string, atMs = nowMs): Delivery =>
      newDelivery(systemDigest, owner, endpointNamed(run), webhookMessage(eventNamed(`${run}-${event}`, atMs)), nowMs);
    const recordOf = (key: string, by = 'me') => ({
      operationId: storedOperationId(`wh_${run}_${key}`),
      owner: ownerToken(by),
      recordedAtMs: nowMs,
    });
    const mine = async () =>
      (await store.due(dueMs + 1_000, 8_000)).filter(({ task }) =>
        JSON.stringify(task).includes(endpointNamed(run).id),
      );

    test('the endpoint list of a tenant is empty at first, and is then read exactly as written', async () => {
      const was = await store.readBook(owner);
      expect(was).toEqual({ ...owner, revision: 0, endpoints: [] });
      const endpoint = rotated(endpointNamed(run, { description: 'ü' }), 'abcdefabcdefabcd', nowMs, 60);
      const now = withEndpoint(was, endpoint);
      expect(await store.write({ book: { was, now } })).toEqual({ kind: 'written' });
      expect(await store.readBook(owner)).toEqual(now);
    });

    test('an endpoint list is found among the failing ones while one of its enabled endpoints fails', async () => {
      const failing = async () =>
        (await store.failing(1_000)).filter(({ tenantId: tenant }) => tenant === owner.tenantId);
      const was = await store.readBook(owner);
      const works = withEndpoint(was, endpointNamed(run));
      await store.write({ book: { was, now: works } });
      expect(await failing()).toEqual([]);
      const fails = withEndpoint(works, { ...endpointNamed(run), failing: { sinceMs: nowMs } });
      await store.write({ book: { was: works, now: fails } });
      expect(await failing()).toEqual([fails]);
      const off = withEndpoint(fails, { ...endpointNamed(run), disabled: { atMs: nowMs, reason: 'requested' } });
      await store.write({ book: { was: fails, now: off } });
      expect(await failing()).toEqual([]);
    });

    test('one of two changes based on the same revision is rejected', async () => {
      const was = await store.readBook(owner);
      const change = (url: string): EndpointList => withEndpoint(was, endpointNamed(run, { url }));
      const outcomes = await Promise.all([
        store.write({ book: { was, now: change('https://a.com/') } }),
        store.write({ book: { was, now: change('https://b.com/') } }),
      ]);
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['changed', 'written']);
    });

    test('a change is written in full or not at all', async () => {
      const first = delivery('first');
      await store.write({ deliveries: [{ now: first }] });
      const outcome = await store.write({
        record: recordOf('all'),
        deliveries: [{ now: delivery('second') }, { now: first }],
      });
      expect(outcome).toEqual({ kind: 'changed' });
      expect(await store.readEffect(recordOf('all').operationId)).toBeUndefined();
      expect(await store.readDelivery(first.endpointId, delivery('second').id)).toBeUndefined();
    });

    test('a record is written once, and the second writer gets the first record', async () => {
      const [one, two] = [delivery('one'), delivery('two')];
      await store.write({ record: recordOf('once'), deliveries: [{ now: one }] });
      const outcome = await store.write({ record: recordOf('once', 'another'), deliveries: [{ now: two }] });
      expect(outcome).toEqual({ kind: 'recorded_before', record: recordOf('once') });
      expect(await store.readDelivery(two.endpointId, two.id)).toBeUndefined();
    });

    test('a delivery is read unchanged, and is due from its sweep time on', async () => {
      const now = delivery('due');
      await store.write({ deliveries: [{ now }] });
      expect(await store.readDelivery(now.endpointId, now.id)).toEqual(now);
      const task = { kind: 'attempt', endpointId: now.endpointId, deliveryId: now.id };
      expect(await store.due(dueMs - 1, 8_000)).not.toContainEqual({ task, sweepAtMs: dueMs });
      expect(await mine()).toEqual([{ task, sweepAtMs: dueMs }]);
    });

    test('the due row is updated and removed together with its delivery', async () => {
      const was = delivery('moves');
      await store.write({ deliveries: [{ now: was }] });
      const later = {
        ...withRequestedAttempt(was, nowMs + 5_000),
        attempts: [{ startedAtMs: nowMs, durationMs: 3, status: 500 }],
      };
      await store.write({ deliveries: [{ was, now: later }] });
      expect(await mine()).toEqual([]);
      const { dueAtMs: _due, sweepAtMs: _sweep, ...rest } = later;
      const done: Delivery = { ...rest, revision: 3, status: 'delivered', deliveredAtMs: nowMs, excerpt: 'ok' };
      await store.write({ deliveries: [{ was: later, now: done }] });
      expect(await store.readDelivery(done.endpointId, done.id)).toEqual(done);
      const due = await store.due(dueMs + 10_000, 8_000);
      expect(due.filter(({ task }) => task.kind === 'attempt' && task.deliveryId === done.id)).toEqual([]);
    });

    test('a due delivery is moved only once, and is then found at its new time', async () => {
      const now = delivery('moved');
      await store.write({ deliveries: [{ now }] });
      const [due] = await mine();
      if (due === undefined) throw new Error('the due delivery is missing');
      const moves = await Promise.all([1, 2].map(() => store.move(due, { sweepAtMs: dueMs + 5_000 })));
      expect(moves.filter((isMoved) => isMoved)).toHaveLength(1);
      expect(await mine()).toEqual([]);
      expect(await store.due(dueMs + 5_000, 8_000)).toContainEqual({ ...due, sweepAtMs: dueMs + 5_000 });
      expect(await store.readDelivery(now.endpointId, now.id)).toEqual({ ...now, sweepAtMs: dueMs + 5_000 });
    });

    test('a delivery moved into its lane is found only in the lane, and a finished delivery cannot be moved', async () => {
      const now = delivery('apart');
      await store.write({ deliveries: [{ now }] });
      const [due] = await mine();
      if (due === undefined) throw new Error('the due delivery is missing');
      expect(await store.move(due, { sweepAtMs: due.sweepAtMs, apart: true })).toEqual({
        group: groupOf(now),
        dueAtMs: now.dueAtMs,
      });
      expect(await mine()).toEqual([]);
      expect(await store.dueInLane(now.endpointId, 5)).toEqual([due]);
      const was = await store.readDelivery(now.endpointId, now.id);
      if (was === undefined) throw new Error('the delivery is missing');
      expect(was).toEqual({ ...now, apart: true });
      await store.write({ deliveries: [{ was, now: withoutAttempt(was) }] });
      expect(await store.dueInLane(now.endpointId, 5)).toEqual([]);
      expect(await store.move(due, { sweepAtMs: dueMs })).toBeUndefined();
      expect(await store.readDelivery(now.endpointId, now.id)).toEqual(withoutAttempt(was));
    });

    test('a lane is read unchanged, and is due until it ends', async () => {
      const { id } = endpointNamed(run);
      expect(await store.readLane(id)).toBeUndefined();
      const now = withAnnouncement(undefined, owner, id, nowMs);
      expect(await store.write({ lane: { now } })).toEqual({ kind: 'written' });
      expect(await store.write({ lane: { now } })).toEqual({ kind: 'changed' });
      expect(await store.readLane(id)).toEqual(now);
      expect(await mine()).toEqual([{ task: { kind: 'lane', endpointId: id }, sweepAtMs: dueMs }]);
      const { dueAtMs: _due, sweepAtMs: _sweep, ...ended } = { ...now, revision: 2 };
      await store.write({ lane: { was: now, now: ended } });
      expect(await mine()).toEqual([]);
    });

    test('an event about an endpoint is written once, and is due until it is finished', async () => {
      const notice = noticeOf(systemDigest, owner, { ...endpointNamed(run), changes: 3 }, 'failing', nowMs);
      expect(await store.write({ notice })).toEqual({ kind: 'written' });
      expect(await store.write({ notice })).toEqual({ kind: 'changed' });
      const due = { task: { kind: 'notice', eventId: notice.eventId }, sweepAtMs: nowMs } as const;
      const isDue = async () =>
        (await store.due(dueMs, 8_000)).filter(({ task }) => task.kind === 'notice' && task.eventId === notice.eventId);
      expect(await isDue()).toEqual([due]);
      const moved = { group: groupOf(owner), dueAtMs: nowMs, notice: { ...notice, sweepAtMs: nowMs + 1 } };
      expect(await store.move(due, { sweepAtMs: nowMs + 1 })).toEqual(moved);
      expect(await store.move(due, { sweepAtMs: nowMs + 1 })).toBeUndefined();
      await store.finish(notice.eventId);
      await store.finish(notice.eventId);
      expect(await isDue()).toEqual([]);
    });

    test('an unreadable delivery is no longer due after it is parked, and its row is kept', async () => {
      const now = delivery('unreadable');
      await store.write({ deliveries: [{ now }] });
      await store.park(now.endpointId, now.id);
      await store.park(now.endpointId, now.id);
      expect(await mine()).toEqual([]);
      expect(await store.readDelivery(now.endpointId, now.id)).toEqual(now);
    });

    test('deliveries are listed newest event first, page by page', async () => {
      const deliveries = [1, 2, 3].map((day) => delivery(`listed-${day}`, nowMs + day));
      for (const now of deliveries) await store.write({ deliveries: [{ now }] });
      const ids = deliveries.map(({ id }) => id).toReversed();
      const first = await store.listDeliveries(endpointNamed(run).id, { limit: 2 });
      expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      const rest = await store.listDeliveries(endpointNamed(run).id, { limit: 2, after: ids[1] ?? '' });
      expect(rest.map(({ id }) => id)).toEqual(ids.slice(2));
      const oldest = { limit: 2, after: idsBefore(nowMs + 2), oldestFirst: true as const };
      const since = await store.listDeliveries(endpointNamed(run).id, oldest);
      expect(since.map(({ id }) => id)).toEqual(ids.slice(0, 2).toReversed());
    });

    test('a replay is read unchanged, and is due until it is completed', async () => {
      const was: WebhookReplay = {
        ...owner,
        id: `rpl_${run}a`,
        endpointId: endpointNamed(run).id,
        revision: 1,
        status: 'running',
        fromMs: 1,
        untilMs: 2,
        events: ['payment.completed'],
        cursor: '1:2',
        sent: 3,
        ...dueAndSweepTimes(nowMs, nowMs),
        createdAtMs: nowMs,
      };
      await store.write({ replay: { now: was } });
      expect(await store.readReplay(was.id)).toEqual(was);
      const due = { task: { kind: 'replay', replayId: was.id }, sweepAtMs: dueMs };
      expect(await store.due(dueMs, 8_000)).toContainEqual(due);
      const { dueAtMs: _due, sweepAtMs: _sweep, ...rest } = was;
      const now: WebhookReplay = { ...rest, revision: 2, status: 'completed' };
      expect(await store.write({ replay: { was, now } })).toEqual({ kind: 'written' });
      expect(await store.write({ replay: { was, now } })).toEqual({ kind: 'changed' });
      expect(await store.due(dueMs, 8_000)).not.toContainEqual(due);
    });
  });
}
