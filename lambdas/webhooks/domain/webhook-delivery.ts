import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { base32 } from '../../kernel/digest.ts';
import { parseRetryAfter } from '../../kernel/retry-after.ts';
import type { KeyedCalls } from './keyed-calls.ts';
import { type Disabled, ENDPOINT_TEST, type WebhookEndpoint, type WebhookOwner } from './webhook-endpoint.ts';

/** An event to send to endpoints, in the format of `GET /v1/events/{id}`. */
export interface WebhookMessage {
  /** Sent as `webhook-id` with every attempt to every endpoint, so that receivers can recognize duplicates. */
  readonly eventId: string;
  readonly type: string;
  readonly occurredAtMs: number;
  /**
   * Body of an event that is not in the Ledger. Other bodies are read from the Ledger at each attempt and are always
   * byte-identical.
   */
  readonly body?: string;
}

export type AttemptResult =
  | { readonly kind: 'answered'; readonly status: number; readonly excerpt: string; readonly retryAfter?: string }
  /** No response arrived in time, or no request was sent: `timeout`, `address_not_allowed`, `connection_failed`, … */
  | { readonly kind: 'unanswered'; readonly error: string };

export interface Attempt {
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly status?: number;
  readonly error?: string;
}

export interface Delivery extends WebhookOwner, WebhookMessage {
  /** Delivery id (`dlv_…`), derived from the endpoint and the event. Ids sort by the time of the event. */
  readonly id: string;
  readonly endpointId: string;
  /**
   * Starts at 1. Each write expects the revision that was read and stores the next revision, so a stale write fails.
   */
  readonly revision: number;
  readonly status: 'pending' | 'delivered' | 'failed' | 'canceled';
  /**
   * Number of attempts of the current schedule that have started. A replay restarts the schedule and resets the number.
   * Excludes attempts that were brought forward on request.
   */
  readonly tries: number;
  /**
   * Time at which the next attempt is due, in Unix milliseconds; kept while the attempt runs. Absent when no attempt is
   * due.
   */
  readonly dueAtMs?: number;
  /**
   * Time at which the sweep queues the delivery, or its lane attempts it, in Unix milliseconds. Set together with
   * `dueAtMs`.
   */
  readonly sweepAtMs?: number;
  /** Set while the delivery waits in its endpoint's lane, without a queue message of its own. */
  readonly apart?: true;
  /** Time at which a rival may take over the running attempt, in Unix milliseconds. Set while an attempt runs. */
  readonly leaseExpiresAtMs?: number;
  /** Set if the due attempt is outside the schedule: a resend, or a test. No retry follows it. */
  readonly extra?: true;
  /** Set while an attempt has started but its result is not recorded yet. */
  readonly running?: true;
  readonly resends?: KeyedCalls;
  /** The latest attempts, oldest first. */
  readonly attempts: readonly Attempt[];
  /** Beginning of the latest response. */
  readonly excerpt?: string;
  readonly createdAtMs: number;
  readonly deliveredAtMs?: number;
}

/**
 * Waits between attempts, in seconds (72 hours in total). Short waits cover transient failures, and long waits cover a
 * weekend's outage (Standard Webhooks 1.0.0, "Deliverability and reliability").
 */
export const RETRY_WAITS_SECONDS: readonly number[] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 64_800, 80_695];
/** Maximum jitter, as a fraction of each wait. */
const JITTER = 0.1;
/** Duration of a whole schedule without jitter, in milliseconds. */
export const SCHEDULE_MS = RETRY_WAITS_SECONDS.reduce((sum, each) => sum + each, 0) * 1000;
/** The jitter makes every wait as short as possible. */
export const SHORTEST_SCHEDULE_MS = SCHEDULE_MS * (1 - JITTER);

/**
 * Lease of one attempt, in milliseconds: ten seconds for the request, plus time for the writes before and after the
 * request, plus a margin for clock differences. An attempt does not send its request later than {@link LATEST_START_MS}
 * after its claim.
 */
const ATTEMPT_LEASE_MS = 60_000;
export const LATEST_START_MS = 20_000;

/** Only the latest are kept, because resends can make more attempts than the schedule. */
const MAX_ATTEMPTS_KEPT = 24;

/** Must exceed the age of any event that a range replay or an automatic redelivery can send. */
export const DELIVERY_KEPT_SECONDS = 90 * 24 * 60 * 60;

/**
 * Longest delay of a message in SQS, in milliseconds (Amazon SQS, "Delay queues": 15 minutes). The sweep handles longer
 * waits.
 */
export const LONGEST_DELAY_MS = 15 * 60_000;
/** Time, in milliseconds, after which an unprocessed message is presumed lost and the sweep queues another one. */
const MESSAGE_LOST_MS = 2 * 60_000;

/**
 * If the wait is short enough for a queue message (up to {@link LONGEST_DELAY_MS}), the sweep time is later than the
 * due time: the sweep then only replaces a lost message.
 */
export function dueAndSweepTimes(
  dueAtMs: number,
  nowMs: number,
): { readonly dueAtMs: number; readonly sweepAtMs: number } {
  const hasMessage = dueAtMs - nowMs <= LONGEST_DELAY_MS;
  return { dueAtMs, sweepAtMs: hasMessage ? dueAtMs + MESSAGE_LOST_MS : dueAtMs };
}

/** A delivery in a lane has no message of its own. */
export function placedInLane(delivery: Delivery): Delivery {
  const { dueAtMs } = delivery;
  return dueAtMs === undefined ? delivery : { ...delivery, apart: true, sweepAtMs: dueAtMs };
}

/**
 * Duration after which an attempt counts as slow, in milliseconds, because it delays other deliveries. Half of the
 * request timeout.
 */
export const SLOW_MS = 5_000;

/**
 * An owner with at least this many attempts in flight in one execution (half of a batch) occupies too many senders.
 * Each attempt of this owner then isolates its endpoint after only {@link CROWDED_MS}. A scenario in
 * `test/world/simulator/flood.test.ts` depends on this number.
 */
export const CROWD = 5;
/**
 * Duration after which an attempt isolates its endpoint while the owner has at least {@link CROWD} attempts in flight,
 * in milliseconds.
 */
export const CROWDED_MS = 1_000;

export function isSlow({ startedAtMs }: { readonly startedAtMs: number }, nowMs: number): boolean {
  return nowMs - startedAtMs >= SLOW_MS;
}

const TIME_DIGITS = 13;
const DELIVERY_LETTERS = 32;
export const DELIVERY_ID = /^dlv_(?<at>\d{13})[a-z2-7]{32}$/;

/** An event has one delivery per endpoint, whether a fan-out or a replay creates it. */
export function deriveDeliveryId(
  digest: Digest,
  endpointId: string,
  message: Pick<WebhookMessage, 'eventId' | 'occurredAtMs'>,
): string {
  const letters = base32(digest.sha256(JSON.stringify(['webhook_delivery', endpointId, message.eventId])));
  return `${idsBefore(message.occurredAtMs)}${letters.slice(0, DELIVERY_LETTERS)}`;
}

/** Returns a string that sorts after the delivery ids of events before `atMs`, and before all other delivery ids. */
export function idsBefore(atMs: number): string {
  return `dlv_${String(atMs).padStart(TIME_DIGITS, '0')}`;
}

/** Unix milliseconds; 0 for an id with a different form. */
export function eventTimeOf(deliveryId: string): number {
  return Number(DELIVERY_ID.exec(deliveryId)?.groups?.['at'] ?? 0);
}

export function isDeliveryId(text: string): boolean {
  return DELIVERY_ID.test(text);
}

export function newDelivery(
  digest: Digest,
  owner: WebhookOwner,
  endpoint: Pick<WebhookEndpoint, 'id' | 'slow'>,
  message: WebhookMessage,
  nowMs: number,
): Delivery {
  const { eventId, type, occurredAtMs, body } = message;
  const made: Delivery = {
    tenantId: owner.tenantId,
    mode: owner.mode,
    eventId,
    type,
    occurredAtMs,
    ...defined({ body }),
    id: deriveDeliveryId(digest, endpoint.id, message),
    endpointId: endpoint.id,
    revision: 1,
    status: 'pending',
    tries: 0,
    ...dueAndSweepTimes(nowMs, nowMs),
    attempts: [],
    createdAtMs: nowMs,
  };
  return endpoint.slow === undefined ? made : placedInLane(made);
}

export function isDue({ dueAtMs, leaseExpiresAtMs = 0 }: Delivery, nowMs: number): boolean {
  return dueAtMs !== undefined && Math.max(dueAtMs, leaseExpiresAtMs) <= nowMs;
}

/**
 * A rival that read the same revision fails; after the lease ends, a rival may take over. A takeover counts as the same
 * attempt, so a crash or an outage of Payonce does not use up the merchant's attempts. The delivery stays in the due
 * queue, so the sweep finds it if the sender crashes.
 */
export function withClaimedAttempt(delivery: Delivery, nowMs: number): Delivery {
  const counted = delivery.extra === true || delivery.running === true;
  const tries = counted ? delivery.tries : delivery.tries + 1;
  return {
    ...delivery,
    revision: delivery.revision + 1,
    tries,
    leaseExpiresAtMs: nowMs + ATTEMPT_LEASE_MS,
    running: true,
  };
}

/**
 * A waiting attempt is brought forward, and the schedule then continues as if the previous attempt was made now, so
 * that requests do not use up the schedule. A running attempt already satisfies the request.
 */
export function withRequestedAttempt(delivery: Delivery, nowMs: number): Delivery {
  if (delivery.running === true && !isDue(delivery, nowMs)) return delivery;
  const asked: Delivery = { ...delivery, revision: delivery.revision + 1, ...dueAndSweepTimes(nowMs, nowMs) };
  const next = delivery.apart === true ? placedInLane(asked) : asked;
  if (delivery.status !== 'pending') return { ...next, extra: true };
  // A running attempt is due here only because its lease has ended. Its takeover is not counted, so `tries` stays.
  return delivery.running === true ? next : { ...next, tries: Math.max(0, delivery.tries - 1) };
}

/**
 * Like {@link withRequestedAttempt}, but restarts the whole schedule, so that one failed attempt does not lose a
 * replayed event. A running attempt without a later retry (the last of the schedule, a resend or a test) does not
 * satisfy the request: the new schedule begins when the lease of that attempt ends, and that attempt's result is not
 * recorded.
 */
export function replayed(delivery: Delivery, nowMs: number): Delivery {
  const isRunning = delivery.running === true && !isDue(delivery, nowMs);
  if (isRunning && isFollowed(delivery)) return delivery;
  const { extra: _extra, running: _running, leaseExpiresAtMs = nowMs, ...rest } = delivery;
  const due = dueAndSweepTimes(isRunning ? leaseExpiresAtMs : nowMs, nowMs);
  const asked: Delivery = { ...rest, revision: delivery.revision + 1, ...due, status: 'pending', tries: 0 };
  return delivery.apart === true ? placedInLane(asked) : asked;
}

/**
 * Returns the end of the lease of a running attempt that no retry will follow, in Unix milliseconds. Until then it is
 * not known whether the endpoint accepts the delivery.
 *
 * @returns undefined when no such attempt runs
 */
export function lastAttemptUntilMs(delivery: Delivery, nowMs: number): number | undefined {
  const isRunning = delivery.running === true && !isDue(delivery, nowMs);
  return isRunning && !isFollowed(delivery) ? delivery.leaseExpiresAtMs : undefined;
}

/** Returns whether another scheduled attempt follows if the running attempt fails. */
function isFollowed({ extra, tries }: Delivery): boolean {
  return extra !== true && tries <= RETRY_WAITS_SECONDS.length;
}

/** Returns the delivery without its due attempt, because its endpoint was deleted or disabled. */
export function withoutAttempt(delivery: Delivery): Delivery {
  const rest = idle(delivery);
  const status = delivery.status === 'pending' ? endOf(delivery, 'canceled') : delivery.status;
  return { ...rest, revision: delivery.revision + 1, status };
}

function idle(delivery: Delivery): Delivery {
  const {
    dueAtMs: _due,
    sweepAtMs: _sweep,
    apart: _apart,
    leaseExpiresAtMs: _lease,
    extra: _extra,
    running: _running,
    ...rest
  } = delivery;
  return rest;
}

/** A delivery that has succeeded stays `delivered`, even if a resend fails later. */
function endOf({ deliveredAtMs }: Delivery, end: 'canceled' | 'failed'): Delivery['status'] {
  return deliveredAtMs === undefined ? end : 'delivered';
}

/** A failed resend leaves the status unchanged. A pending test delivery has only one attempt, so it fails. */
function endOfAttempt(delivery: Delivery): Delivery['status'] {
  return delivery.extra === true && delivery.status !== 'pending' ? delivery.status : endOf(delivery, 'failed');
}

export interface AfterAttempt {
  readonly delivery: Delivery;
  /** Absent when the endpoint stays enabled. */
  readonly disable?: Disabled['reason'];
}

/**
 * After any result other than 2xx and 410, including a redirect, the delivery is retried until the schedule ends; a
 * failed last attempt disables the endpoint. A receiver can postpone the retry with `Retry-After`, by at most an hour.
 *
 * @param random from 0 to 1
 */
export function afterAttempt(
  delivery: Delivery,
  attempt: { readonly startedAtMs: number; readonly result: AttemptResult },
  nowMs: number,
  random: number,
): AfterAttempt {
  const settled = withAttempt(delivery, attempt, nowMs);
  const { result } = attempt;
  const isExtra = delivery.extra === true;
  if (result.kind === 'answered' && isSuccess(result.status)) {
    return { delivery: { ...settled, status: 'delivered', deliveredAtMs: delivery.deliveredAtMs ?? nowMs } };
  }
  if (result.kind === 'answered' && result.status === GONE) {
    return { delivery: { ...settled, status: endOfAttempt(delivery) }, disable: 'gone' };
  }
  if (isExtra) return { delivery: { ...settled, status: endOfAttempt(delivery) } };
  const waitSeconds = RETRY_WAITS_SECONDS[delivery.tries - 1];
  if (waitSeconds === undefined)
    return { delivery: { ...settled, status: endOf(delivery, 'failed') }, disable: 'failing' };
  const scheduledMs = Math.round(waitSeconds * 1000 * (1 - JITTER + 2 * JITTER * random));
  const asked = result.kind === 'answered' ? parseRetryAfter(result.retryAfter, nowMs) : undefined;
  const waitMs = Math.max(scheduledMs, (asked ?? 0) * 1000);
  return { delivery: { ...settled, ...dueAndSweepTimes(nowMs + waitMs, nowMs) } };
}

/**
 * Returns the delivery after its last attempt, for an endpoint whose URL has changed since the claim. Unless the
 * attempt was a resend, the new URL is tried immediately.
 *
 * @param taken the delivery as it was claimed
 */
export function withNewAddress(taken: Delivery, ended: Delivery, nowMs: number): Delivery {
  return taken.extra === true ? ended : { ...ended, status: taken.status, ...dueAndSweepTimes(nowMs, nowMs) };
}

const GONE = 410;

function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}

export function hasSuccessAfter(deliveries: readonly Delivery[], afterMs: number): boolean {
  const attempts = deliveries.flatMap((delivery) => delivery.attempts);
  return attempts.some(({ status, startedAtMs }) => isSuccess(status) && startedAtMs > afterMs);
}

function withAttempt(
  delivery: Delivery,
  { startedAtMs, result }: { readonly startedAtMs: number; readonly result: AttemptResult },
  nowMs: number,
): Delivery {
  const { excerpt: _excerpt, ...rest } = idle(delivery);
  const attempt: Attempt = {
    startedAtMs,
    durationMs: Math.max(0, nowMs - startedAtMs),
    ...(result.kind === 'answered' ? { status: result.status } : { error: result.error }),
  };
  return {
    ...rest,
    revision: delivery.revision + 1,
    attempts: [...delivery.attempts, attempt].slice(-MAX_ATTEMPTS_KEPT),
    ...(result.kind === 'answered' ? { excerpt: result.excerpt } : {}),
  };
}

/** @returns undefined when the delivery has no excerpt, and no running attempt that could record one */
export function withoutAnswer({ excerpt, ...delivery }: Delivery): Delivery | undefined {
  if (excerpt === undefined && delivery.running !== true) return undefined;
  return { ...delivery, revision: delivery.revision + 1 };
}

/** The event does not concern a payment. */
export function testMessage(
  digest: Digest,
  endpoint: Pick<WebhookEndpoint, 'id' | 'url'>,
  { mode }: WebhookOwner,
  { mark, atMs }: { readonly mark: string; readonly atMs: number },
): WebhookMessage {
  return messageAbout(digest, endpoint, {
    mode,
    type: ENDPOINT_TEST,
    mark,
    sequence: 1,
    atMs,
    state: { enabled: true },
  });
}

/** One attempt, without retries. */
export function testDelivery(...made: Parameters<typeof newDelivery>): Delivery {
  return { ...newDelivery(...made), extra: true };
}

/** @param mark a value that distinguishes the event from other events of its type */
export function messageAbout(
  digest: Digest,
  { id, url }: Pick<WebhookEndpoint, 'id' | 'url'>,
  about: {
    readonly mode: WebhookOwner['mode'];
    readonly type: string;
    readonly mark: string;
    readonly sequence: number;
    readonly atMs: number;
    readonly state: Readonly<Record<string, unknown>>;
  },
): Required<WebhookMessage> {
  const { mode, type, mark, sequence, atMs, state } = about;
  const letters = base32(digest.sha256(JSON.stringify([type, id, mark])));
  // The id does not have the format of payment events' ids, because this event is not a transition, and `GET
  // /v1/events` does not list it.
  const eventId = `evt_we_${letters.slice(0, DELIVERY_LETTERS)}`;
  const body = JSON.stringify({
    id: eventId,
    object: 'event',
    type,
    version: 1,
    created: Math.floor(atMs / 1000),
    sequence,
    livemode: mode === 'live',
    data: { object: { id, object: 'webhook_endpoint', url, ...state } },
  });
  return { eventId, type, occurredAtMs: atMs, body };
}

export function deliveryObject(delivery: Delivery): Record<string, unknown> {
  const { id, endpointId, eventId, type, status, attempts, excerpt, dueAtMs, createdAtMs, deliveredAtMs } = delivery;
  return {
    id,
    object: 'webhook_delivery',
    endpoint: endpointId,
    event: eventId,
    type,
    status,
    attempts: attempts.map((attempt) => ({
      at: Math.floor(attempt.startedAtMs / 1000),
      duration_ms: attempt.durationMs,
      status: attempt.status ?? null,
      error: attempt.error ?? null,
    })),
    last_answer: excerpt ?? null,
    next_attempt: dueAtMs === undefined ? null : Math.floor(dueAtMs / 1000),
    delivered: deliveredAtMs === undefined ? null : Math.floor(deliveredAtMs / 1000),
    created: Math.floor(createdAtMs / 1000),
  };
}
