import type { ActivityDraft } from '../../activity/domain/activity.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Clock } from '../../kernel/world.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import {
  DELIVERY_KEPT_SECONDS,
  type Delivery,
  dueAndSweepTimes,
  lastAttemptUntilMs,
  newDelivery,
  placedInLane,
  replayed,
  type WebhookMessage,
} from '../domain/webhook-delivery.ts';
import {
  type EndpointList,
  endpointOf,
  isSubscribedTo,
  type WebhookEndpoint,
  withEndpoint,
} from '../domain/webhook-endpoint.ts';
import { replayObject, replays, type WebhookReplay } from '../domain/webhook-replay.ts';
import { replayOperation } from '../ids.ts';
import { enqueueAtOnce } from './fan-out-webhooks.ts';
import type { AskTools, ResendRefusal } from './resend-webhook.ts';
import { wakeLane } from './wake-lane.ts';
import { takeWebhookEffect, type WebhookEffectOutcome } from './webhook-effect.ts';
import { answerOf, type KeyedRequest } from './webhook-endpoints.ts';
import type { PastEvents, Revised, WebhookChange, WebhookStore, WebhookTask, WebhookTasks } from './webhooks.ts';

export interface ReplayWebhooks extends KeyedRequest {
  readonly endpointId: string;
  readonly replayId: string;
  /** Inclusive. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly untilMs: number;
  readonly events?: WebhookReplay['events'];
  /** Whether to redeliver only the events that the endpoint has never accepted. @default all events */
  readonly isPartial?: boolean;
}

/** A {@link ResendRefusal} takes precedence. */
export type ReplayRefusal =
  | ResendRefusal
  /** Deliveries of a part of the range are no longer stored, so it is not known which events were accepted. */
  | { readonly kind: 'range_too_old' }
  | { readonly kind: 'replay_running'; readonly replayId: string };

/** The worker processes the pages later. @throws as `takeWebhookEffect` */
export async function acceptReplay(
  tools: AskTools,
  request: ReplayWebhooks,
): Promise<WebhookEffectOutcome<ReplayRefusal>> {
  const { caller, endpointId, replayId, fromMs, untilMs, events, isPartial = false, cause } = request;
  const outcome = await takeWebhookEffect<ReplayRefusal>(tools, {
    ...request,
    decide: async () => {
      const book = await tools.webhooks.readBook(caller);
      const endpoint = endpointOf(book, endpointId);
      if (endpoint === undefined) return { kind: 'not_found' };
      // If the replay exists, its request has taken effect, and the record of the request has expired. A replay is
      // stored for longer than this record.
      if ((await tools.webhooks.readReplay(replayId)) !== undefined) return { kind: 'key_expired' };
      if (endpoint.disabled !== undefined) return { kind: 'endpoint_disabled' };
      const nowMs = tools.clock.nowMs();
      if (isPartial && isForgotten(fromMs, nowMs)) return { kind: 'range_too_old' };
      if (endpoint.replay !== undefined) return { kind: 'replay_running', replayId: endpoint.replay };
      const now: WebhookReplay = {
        tenantId: caller.tenantId,
        mode: caller.mode,
        id: replayId,
        endpointId,
        revision: 1,
        status: 'running',
        fromMs,
        untilMs,
        ...defined({ events }),
        ...(isPartial ? { onlyUndelivered: true as const } : {}),
        sent: 0,
        ...dueAndSweepTimes(nowMs, nowMs),
        createdAtMs: nowMs,
      };
      const activity: ActivityDraft = {
        chain: caller,
        action: 'webhooks.replay_requested',
        actor: cause,
        about: [replayId, endpointId],
        occurredAtMs: nowMs,
      };
      const running = { was: book, now: withEndpoint(book, { ...endpoint, replay: replayId }) };
      const change = { book: running, replay: { now }, activity };
      return { kind: 'change', change, answer: answerOf(202, replayObject(now)) };
    },
  });
  if (outcome.kind === 'first') await enqueueAtOnce(tools, caller, [{ kind: 'replay', replayId }]);
  return outcome;
}

export interface ReplayTools {
  readonly webhooks: WebhookStore;
  readonly pastEvents: PastEvents;
  readonly tasks: WebhookTasks;
  readonly runner: OperationRunner;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly digest: Digest;
  readonly report: (error: unknown) => void;
}

/**
 * A page takes one write for each delivery and up to two more, and a transaction is limited to 100 writes (DynamoDB,
 * "TransactWriteItems").
 */
const EVENTS_PER_PAGE = 25;

export type PageOutcome = 'nothing_due' | 'page' | 'ended';

/**
 * One transaction writes the deliveries of the page and the cursor of the next page, so a page that is read twice
 * creates its deliveries once.
 *
 * @throws RetryableError, AmbiguousError: the sweep enqueues the replay again
 */
export function replayPage(tools: ReplayTools, replayId: string): Promise<PageOutcome> {
  let was: WebhookReplay | undefined;
  return commitOnce<WebhookReplay | undefined, PageOutcome>(tools.runner, {
    operationId: replayOperation(replayId),
    find: async () => {
      was = await readRunning(tools, replayId);
      return was === undefined ? 'nothing_due' : undefined;
    },
    prepare: async () => was,
    write: async (running) => {
      const outcome = running === undefined ? 'nothing_due' : await writePage(tools, running);
      if (outcome !== 'changed') return { kind: 'done', outcome };
      return { kind: 'again', prepared: await readRunning(tools, replayId) };
    },
  });
}

async function readRunning({ webhooks }: ReplayTools, replayId: string): Promise<WebhookReplay | undefined> {
  const replay = await webhooks.readReplay(replayId);
  return replay?.status === 'running' ? replay : undefined;
}

async function writePage(tools: ReplayTools, was: WebhookReplay): Promise<PageOutcome | 'changed'> {
  const { webhooks, clock } = tools;
  const book = await webhooks.readBook(was);
  const endpoint = endpointOf(book, was.endpointId);
  if (endpoint === undefined || endpoint.disabled !== undefined) {
    const canceled = await webhooks.write({ replay: { was, now: ended(was, 'canceled') }, ...released(book, was) });
    return canceled.kind === 'written' ? 'ended' : 'changed';
  }
  const page = await tools.pastEvents({ ...ranged(was), limit: EVENTS_PER_PAGE });
  const found = await deliveriesOf(tools, was, endpoint, page.events);
  if ('untilMs' in found) return (await postponed(tools, was, found.untilMs)) ? 'page' : 'changed';
  const { deliveries } = found;
  const sent = was.sent + deliveries.length;
  const now: WebhookReplay =
    page.cursor === undefined
      ? { ...ended(was, 'completed'), sent }
      : {
          ...was,
          revision: was.revision + 1,
          sent,
          cursor: page.cursor,
          ...dueAndSweepTimes(clock.nowMs(), clock.nowMs()),
        };
  // Wake the lane before the write, so that it runs even if this process crashes.
  if (deliveries.length > 0) await wakeLane(tools, was, was.endpointId);
  const end = now.status === 'running' ? {} : released(book, was);
  const outcome = await webhooks.write({ replay: { was, now }, deliveries, ...end });
  if (outcome.kind !== 'written') return 'changed';
  const lane: readonly WebhookTask[] = deliveries.length > 0 ? [{ kind: 'lane', endpointId: was.endpointId }] : [];
  await enqueueAtOnce(tools, was, now.status === 'running' ? [...lane, { kind: 'replay', replayId: was.id }] : lane);
  return now.status === 'running' ? 'page' : 'ended';
}

function released(book: EndpointList, { endpointId, id }: WebhookReplay): Pick<WebhookChange, 'book'> {
  const endpoint = endpointOf(book, endpointId);
  if (endpoint?.replay !== id) return {};
  const { replay: _ended, ...rest } = endpoint;
  return { book: { was: book, now: withEndpoint(book, rest) } };
}

function ranged({ tenantId, mode, fromMs, untilMs, cursor }: WebhookReplay) {
  return { tenantId, mode, fromMs, untilMs, ...defined({ cursor }) };
}

async function deliveriesOf(
  { webhooks, clock, digest }: ReplayTools,
  replay: WebhookReplay,
  endpoint: WebhookEndpoint,
  events: readonly WebhookMessage[],
): Promise<PageDeliveries> {
  const wanted = events.filter(({ type }) => isSubscribedTo(endpoint, type) && replays(replay, type));
  const nowMs = clock.nowMs();
  const all = await Promise.all(
    wanted.map(async (message) => {
      const fresh = newDelivery(digest, replay, endpoint, message, nowMs);
      const was = await webhooks.readDelivery(endpoint.id, fresh.id);
      return { fresh, was };
    }),
  );
  if (replay.onlyUndelivered !== true) return { deliveries: all.flatMap((each) => again(each, nowMs)) };
  const missing = all.filter(({ fresh, was }) =>
    was === undefined ? !isForgotten(fresh.occurredAtMs, nowMs) : was.deliveredAtMs === undefined,
  );
  const running = missing.flatMap(({ was }) => (was && lastAttemptUntilMs(was, nowMs)) ?? []);
  return running.length > 0
    ? { untilMs: Math.max(...running) }
    : { deliveries: missing.flatMap((each) => again(each, nowMs)) };
}

type PageDeliveries =
  | { readonly deliveries: readonly Revised<Delivery>[] }
  /**
   * For some deliveries, an attempt that no retry follows is in progress, and the endpoint may still accept them. The
   * page is processed at `untilMs` (Unix milliseconds), when the last lease of these attempts ends.
   */
  | { readonly untilMs: number };

/** Returns none if an attempt is running and a retry would follow it: such an attempt already satisfies the replay. */
function again(
  { fresh, was }: { readonly fresh: Delivery; readonly was: Delivery | undefined },
  nowMs: number,
): readonly Revised<Delivery>[] {
  if (was === undefined) return [{ now: placedInLane(fresh) }];
  const now = replayed(was, nowMs);
  return now === was ? [] : [{ was, now: placedInLane(now) }];
}

/** Returns whether the delivery of an event with this time may already have been deleted. */
function isForgotten(occurredAtMs: number, nowMs: number): boolean {
  return nowMs - occurredAtMs >= DELIVERY_KEPT_SECONDS * 1000;
}

/** @returns false when the replay has changed since it was read */
async function postponed(tools: ReplayTools, was: WebhookReplay, untilMs: number): Promise<boolean> {
  const { webhooks, clock } = tools;
  const nowMs = clock.nowMs();
  const now = { ...was, revision: was.revision + 1, ...dueAndSweepTimes(untilMs, nowMs) };
  if ((await webhooks.write({ replay: { was, now } })).kind !== 'written') return false;
  const delaySeconds = Math.max(0, Math.ceil((untilMs - nowMs) / 1000));
  await enqueueAtOnce(tools, was, [{ kind: 'replay', replayId: was.id }], delaySeconds);
  return true;
}

function ended(replay: WebhookReplay, status: 'completed' | 'canceled'): WebhookReplay {
  const { dueAtMs: _due, sweepAtMs: _sweep, ...rest } = replay;
  return { ...rest, revision: replay.revision + 1, status };
}
