import type { Digest } from '../../kernel/digest.ts';
import { base32 } from '../../kernel/digest.ts';
import { type Disabled, ENDPOINT_DISABLED, type WebhookEndpoint, type WebhookOwner } from './webhook-endpoint.ts';

/** What is delivered: an event, as it is at `GET /v1/events/{id}`. */
export interface WebhookMessage {
  /** Of the event: the `webhook-id` of every attempt at every endpoint, so that receivers recognise what they have had. */
  readonly eventId: string;
  readonly type: string;
  /** Unix milliseconds. */
  readonly occurredAtMs: number;
  /** The body's text: the same bytes at every attempt. */
  readonly body: string;
}

/** How one attempt ended. */
export type AttemptResult =
  | { readonly kind: 'answered'; readonly status: number; readonly excerpt: string }
  /** No answer, or none that was waited for: `timeout`, `address_not_allowed`, `connection_failed`, … */
  | { readonly kind: 'unanswered'; readonly error: string };

export interface Attempt {
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly status?: number;
  readonly error?: string;
}

export interface Delivery extends WebhookOwner, WebhookMessage {
  /** `dlv_…`: derived from endpoint and event, and in the order of the events' times. */
  readonly id: string;
  readonly endpointId: string;
  /** 1 when it is made; each change makes the next, so that a late writer is refused. */
  readonly revision: number;
  readonly status: 'pending' | 'delivered' | 'failed' | 'canceled';
  /** How many of the schedule's attempts were begun. */
  readonly tries: number;
  /** Set while somebody is to try. While an attempt runs, when it counts as lost. Unix milliseconds. */
  readonly dueAtMs?: number;
  /** The attempt that is due was asked for beside the schedule, and is not followed by others. */
  readonly extra?: true;
  /** An attempt was begun and has not told its end. */
  readonly running?: true;
  /** The latest, oldest first. */
  readonly attempts: readonly Attempt[];
  /** The beginning of the latest answer. */
  readonly excerpt?: string;
  readonly createdAtMs: number;
  readonly deliveredAtMs?: number;
}

/**
 * The waits after each failed attempt, together 72 hours: short ones for what passes, long ones for a weekend's outage
 * (after Standard Webhooks 1.0.0, "Deliverability and reliability"). Seconds.
 */
export const RETRY_WAITS_SECONDS: readonly number[] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 64_800, 80_695];
/** Waits are shorter or longer by up to this share, so that what failed together does not come back together. */
const JITTER = 0.1;
/** The least time that all attempts take. Milliseconds. */
const SHORTEST_SCHEDULE_MS = RETRY_WAITS_SECONDS.reduce((sum, each) => sum + each, 0) * 1000 * (1 - JITTER);

/**
 * How long an attempt may take until another may begin: the ten seconds of the call, what is written before and after, and
 * room for clocks. An attempt that has not called by {@link LATEST_START_MS} does not call at all.
 */
const ATTEMPT_LEASE_MS = 60_000;
export const LATEST_START_MS = 20_000;

/** More were asked for by hand: only the latest are kept. */
const MAX_ATTEMPTS_KEPT = 24;

/** Longer than a merchant looks back, and than anything redelivers by itself. */
export const DELIVERY_KEPT_SECONDS = 90 * 24 * 60 * 60;

const TIME_DIGITS = 13;
const DELIVERY_LETTERS = 32;
const DELIVERY_ID = /^dlv_(?<at>\d{13})[a-z2-7]{32}$/;

/** The same event at the same endpoint is one delivery, whatever brought it here. */
function deriveDeliveryId(digest: Digest, endpointId: string, message: WebhookMessage): string {
  const letters = base32(digest.sha256(JSON.stringify(['webhook_delivery', endpointId, message.eventId])));
  return `dlv_${String(message.occurredAtMs).padStart(TIME_DIGITS, '0')}${letters.slice(0, DELIVERY_LETTERS)}`;
}

export function isDeliveryId(text: string): boolean {
  return DELIVERY_ID.test(text);
}

export function newDelivery(
  digest: Digest,
  owner: WebhookOwner,
  endpoint: Pick<WebhookEndpoint, 'id'>,
  message: WebhookMessage,
  nowMs: number,
): Delivery {
  const { eventId, type, occurredAtMs, body } = message;
  return {
    tenantId: owner.tenantId,
    mode: owner.mode,
    eventId,
    type,
    occurredAtMs,
    body,
    id: deriveDeliveryId(digest, endpoint.id, message),
    endpointId: endpoint.id,
    revision: 1,
    status: 'pending',
    tries: 0,
    dueAtMs: nowMs,
    attempts: [],
    createdAtMs: nowMs,
  };
}

export function isDue({ dueAtMs }: Delivery, nowMs: number): boolean {
  return dueAtMs !== undefined && dueAtMs <= nowMs;
}

/**
 * Takes the attempt: whoever has read the same is refused, and whoever comes after the lease may try in its place. That is
 * the same try: what keeps *us* from making it, an outage or a crash, uses up nothing of the merchant's three days.
 */
export function begun(delivery: Delivery, nowMs: number): Delivery {
  const counted = delivery.extra === true || delivery.running === true;
  const tries = counted ? delivery.tries : delivery.tries + 1;
  return { ...delivery, revision: delivery.revision + 1, tries, dueAtMs: nowMs + ATTEMPT_LEASE_MS, running: true };
}

/** One more attempt now. One that waits for its turn is only brought forward; one that is under way is what was asked for. */
export function askedFor(delivery: Delivery, nowMs: number): Delivery {
  if (delivery.running === true && !isDue(delivery, nowMs)) return delivery;
  const next: Delivery = { ...delivery, revision: delivery.revision + 1, dueAtMs: nowMs };
  return delivery.status === 'pending' ? next : { ...next, extra: true };
}

/** As {@link askedFor}, but it goes through the whole schedule again: one bad moment must not lose what is sent again for good. */
export function replayed(delivery: Delivery, nowMs: number): Delivery {
  const asked = askedFor(delivery, nowMs);
  if (asked === delivery || asked.status === 'pending') return asked;
  const { extra: _extra, running: _running, ...rest } = asked;
  return { ...rest, status: 'pending', tries: 0 };
}

/** Its endpoint is gone or switched off: nothing is due any more. What was delivered stays so. */
export function dropped(delivery: Delivery): Delivery {
  const { dueAtMs: _due, extra: _extra, running: _running, ...rest } = delivery;
  const status = delivery.status === 'pending' ? endOf(delivery, 'canceled') : delivery.status;
  return { ...rest, revision: delivery.revision + 1, status };
}

/** What was delivered once stays so, whatever becomes of its being sent again. */
function endOf({ deliveredAtMs }: Delivery, end: 'canceled' | 'failed'): Delivery['status'] {
  return deliveredAtMs === undefined ? end : 'delivered';
}

export interface AfterAttempt {
  readonly delivery: Delivery;
  /** Why its endpoint must get nothing more. */
  readonly disable?: Disabled['reason'];
}

/**
 * What an attempt's end means: 2xx is taken, 410 says never again, and everything else (a redirect too) is tried again
 * until the schedule ends.
 *
 * @param random from 0 to 1
 */
export function afterAttempt(
  delivery: Delivery,
  attempt: { readonly startedAtMs: number; readonly result: AttemptResult },
  nowMs: number,
  random: number,
): AfterAttempt {
  const settled = noted(delivery, attempt, nowMs);
  const { result } = attempt;
  const isExtra = delivery.extra === true;
  if (result.kind === 'answered' && isTaken(result.status)) {
    return { delivery: { ...settled, status: 'delivered', deliveredAtMs: delivery.deliveredAtMs ?? nowMs } };
  }
  if (result.kind === 'answered' && result.status === GONE) {
    return { delivery: { ...settled, status: isExtra ? delivery.status : endOf(delivery, 'failed') }, disable: 'gone' };
  }
  if (isExtra) return { delivery: settled };
  const waitSeconds = RETRY_WAITS_SECONDS[delivery.tries - 1];
  if (waitSeconds === undefined)
    return { delivery: { ...settled, status: endOf(delivery, 'failed') }, disable: 'failing' };
  const waitMs = Math.round(waitSeconds * 1000 * (1 - JITTER + 2 * JITTER * random));
  return { delivery: { ...settled, dueAtMs: nowMs + waitMs } };
}

const GONE = 410;

function isTaken(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}

/** Whether an endpoint has taken any of these in the time in which another was tried in vain. */
export function takesSome(deliveries: readonly Delivery[], nowMs: number): boolean {
  const attempts = deliveries.flatMap((delivery) => delivery.attempts);
  return attempts.some(({ status, startedAtMs }) => isTaken(status) && startedAtMs > nowMs - SHORTEST_SCHEDULE_MS);
}

/** With the attempt, and with nothing due. */
function noted(
  delivery: Delivery,
  { startedAtMs, result }: { readonly startedAtMs: number; readonly result: AttemptResult },
  nowMs: number,
): Delivery {
  const { dueAtMs: _due, extra: _extra, running: _running, excerpt: _excerpt, ...rest } = delivery;
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

/** What the other endpoints of the tenant are told when one is switched off. */
export function disabledMessage(
  digest: Digest,
  endpoint: Pick<WebhookEndpoint, 'id' | 'url'>,
  { mode }: WebhookOwner,
  disabled: Disabled,
): WebhookMessage {
  const letters = base32(digest.sha256(JSON.stringify([ENDPOINT_DISABLED, endpoint.id, disabled.atMs])));
  // Of another form than payments' events: it is no transition and is not found among them.
  const eventId = `evt_we_${letters.slice(0, DELIVERY_LETTERS)}`;
  const object = {
    id: endpoint.id,
    object: 'webhook_endpoint',
    url: endpoint.url,
    enabled: false,
    disabled: { reason: disabled.reason, at: Math.floor(disabled.atMs / 1000) },
  };
  const body = JSON.stringify({
    id: eventId,
    object: 'event',
    type: ENDPOINT_DISABLED,
    created: Math.floor(disabled.atMs / 1000),
    sequence: 1,
    livemode: mode === 'live',
    data: { object },
  });
  return { eventId, type: ENDPOINT_DISABLED, occurredAtMs: disabled.atMs, body };
}

/** As the API shows it; times in Unix seconds, but for how long an attempt took. */
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
