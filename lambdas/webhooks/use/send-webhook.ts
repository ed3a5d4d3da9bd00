import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { TerminalError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Clock, type Entropy, wireMs } from '../../kernel/world.ts';
import type { ClaimStep, OperationRunner } from '../../once/use/operation-runner.ts';
import { rounds } from '../../once/use/rounds.ts';
import {
  type AttemptResult,
  afterAttempt,
  CROWD,
  CROWDED_MS,
  type Delivery,
  hasSuccessAfter,
  idsBefore,
  isDue,
  isSlow,
  LATEST_START_MS,
  LONGEST_DELAY_MS,
  placedInLane,
  SCHEDULE_MS,
  SHORTEST_SCHEDULE_MS,
  SLOW_MS,
  withClaimedAttempt,
  withNewAddress,
  withoutAttempt,
} from '../domain/webhook-delivery.ts';
import {
  activeSecrets,
  type Disabled,
  endpointOf,
  groupOf,
  isIsolated,
  type WebhookEndpoint,
  withEndpoint,
  withLateAttempt,
} from '../domain/webhook-endpoint.ts';
import { runsSoon } from '../domain/webhook-lane.ts';
import { canBeginFailure, noticeOf, type StateChange, scheduleBegan, withState } from '../domain/webhook-notice.ts';
import { attemptOperation } from '../ids.ts';
import { deliveriesFor, enqueueAtOnce, tasksFor } from './fan-out-webhooks.ts';
import { wakeLane } from './wake-lane.ts';
import type {
  EventBodies,
  WebhookChange,
  WebhookSecrets,
  WebhookStore,
  WebhookTasks,
  WebhookTransport,
} from './webhooks.ts';

/** Number of attempts in flight in one execution of the shared senders, by message group (`groupOf`). */
export type InFlight = Map<string, number>;

export interface SendTools {
  readonly webhooks: WebhookStore;
  readonly secrets: WebhookSecrets;
  readonly transport: WebhookTransport;
  readonly bodies: EventBodies;
  readonly tasks: WebhookTasks;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
  readonly report: (error: unknown) => void;
}

export type SendOutcome =
  /** The delivery has ended, is claimed by a rival, or is not due yet. Its message can be deleted. */
  | 'nothing_due'
  /** Nothing was sent, because the endpoint was deleted or disabled. */
  | 'dropped'
  /** The endpoint is isolated, so its lane will make the attempt. */
  | 'moved_to_lane'
  /** Too much of the lease had passed to send safely. Nothing was sent; the sweep retries when the lease ends. */
  | 'too_late'
  /** A rival took over during the attempt. Only the rival's result is recorded. */
  | 'superseded'
  | 'delivered'
  /** Delivered by a slow attempt. */
  | 'delivered_late'
  | 'failed'
  /** The attempt was slow and failed. */
  | 'failed_late'
  /**
   * The endpoint was disabled: the last scheduled attempt failed, the endpoint was slow for a whole schedule, or it
   * responded with 410.
   */
  | 'disabled';

/**
 * Maximum time from the moment when a request counts as slow ({@link SLOW_MS} after its start) until the result of its
 * attempt is recorded, in seconds.
 */
const AFTER_CALL_SECONDS = 6;

/**
 * Page size of the check for a recent success before an endpoint's state becomes `failing` or `disabled`. The check
 * reads the latest page, and pages that begin at earlier times: from the start of the schedule, or from each time in
 * {@link LOOKED_AT_SINCE}.
 */
const LOOKED_AT = 100;
/**
 * Times from which deliveries are checked before an endpoint is disabled, in addition to the latest ones, because the
 * latest deliveries of a busy endpoint may all fall into one outage. Each time is a fraction of the schedule's
 * duration, counted back from now. The first one is a whole schedule ago, which is before the start of any outage
 * shorter than the schedule.
 */
const LOOKED_AT_SINCE = [1, 3 / 4, 1 / 2, 3 / 8, 3 / 16, 3 / 32, 3 / 64, 1 / 64, 1 / 256] as const;

/**
 * The delivery's row serves as the record: only one of two concurrent messages claims the attempt. If the sender
 * crashes, the delivery becomes due again when its lease ends. The next attempt has the same id and the same body.
 *
 *   A ── claim (rev 2) ── send ── crash … lease ends
 *   B ──── claim ✗                        C ── claim (rev 3) ── send ── commit (rev 4)
 *
 * @throws RetryableError, AmbiguousError when the store fails: the sweep enqueues the delivery again
 */
export function sendWebhook(
  tools: SendTools,
  endpointId: string,
  deliveryId: string,
  inFlight: InFlight = new Map(),
): Promise<SendOutcome> {
  return run(tools, { endpointId, deliveryId, inFlight });
}

/**
 * Makes an attempt like {@link sendWebhook}, but from the lane of the endpoint, where a slow attempt does not delay
 * other endpoints.
 */
export function sendFromLane(tools: SendTools, endpointId: string, deliveryId: string): Promise<SendOutcome> {
  return run(tools, { endpointId, deliveryId });
}

interface Which {
  readonly endpointId: string;
  readonly deliveryId: string;
  /** Counts the attempts of the shared senders. Absent when the attempt is made from the endpoint's lane. */
  readonly inFlight?: InFlight;
}

function run(tools: SendTools, which: Which): Promise<SendOutcome> {
  // No release step is needed: after the lease ends, the sweep enqueues the delivery again.
  return tools.runner.run<Claimed, Sent, SendOutcome>(attemptOperation(which.endpointId, which.deliveryId), {
    claim: () => claim(tools, which),
    execute: (claimed) => send(tools, claimed),
    commit: async (sent, claimed) => (sent === 'too_late' ? sent : record(tools, claimed, sent)),
  });
}

interface Claimed {
  /** The delivery as the claim wrote it, with its lease. */
  readonly delivery: Delivery;
  readonly endpoint: WebhookEndpoint;
  readonly inFlight?: InFlight;
  readonly atMs: number;
}

type Sent = { readonly startedAtMs: number; readonly result: AttemptResult } | 'too_late';

async function claim(
  tools: SendTools,
  { endpointId, deliveryId, inFlight }: Which,
): Promise<ClaimStep<Claimed, SendOutcome>> {
  const { webhooks, clock } = tools;
  // A delivery in a lane has no message of its own that could become a dead letter. If it cannot be read, the lane
  // queues a message for it, and the delivery is parked when that message is processed.
  const delivery = await (inFlight === undefined
    ? webhooks.readDelivery(endpointId, deliveryId)
    : readOrPark(webhooks, endpointId, deliveryId));
  const atMs = clock.nowMs();
  if (delivery === undefined || !isDue(delivery, atMs)) return { kind: 'refused', outcome: 'nothing_due' };
  const book = await webhooks.readBook(delivery);
  const endpoint = endpointOf(book, endpointId);
  if (endpoint === undefined || endpoint.disabled !== undefined) {
    await webhooks.write({ deliveries: [{ was: delivery, now: withoutAttempt(delivery) }] });
    return { kind: 'refused', outcome: 'dropped' };
  }
  if (inFlight !== undefined && isIsolated(book, endpoint, atMs)) {
    await moveToLane(tools, delivery, endpoint);
    return { kind: 'refused', outcome: 'moved_to_lane' };
  }
  const taken = withClaimedAttempt(delivery, atMs);
  const outcome = await webhooks.write({ deliveries: [{ was: delivery, now: taken }] });
  if (outcome.kind !== 'written') return { kind: 'refused', outcome: 'nothing_due' };
  return { kind: 'claimed', held: { delivery: taken, endpoint, ...defined({ inFlight }), atMs } };
}

/** The lane of a slow endpoint already runs. The lane of any other endpoint is created or woken first. */
async function moveToLane(tools: SendTools, delivery: Delivery, { id, slow }: WebhookEndpoint): Promise<void> {
  if (delivery.apart === true) return;
  const isWoken = slow === undefined && (await wakeLane(tools, delivery, id, runsSoon));
  const now = { ...placedInLane(delivery), revision: delivery.revision + 1 };
  await tools.webhooks.write({ deliveries: [{ was: delivery, now }] });
  if (isWoken) await enqueueAtOnce(tools, delivery, [{ kind: 'lane', endpointId: id }]);
}

/**
 * If this code cannot parse the delivery, removes it from the due queue, because otherwise every sweep would enqueue it
 * again. Its message goes to the dead-letter queue, and can be redriven after a fix.
 *
 * @throws TerminalError `row_unreadable`
 */
async function readOrPark(
  webhooks: WebhookStore,
  endpointId: string,
  deliveryId: string,
): Promise<Delivery | undefined> {
  try {
    return await webhooks.readDelivery(endpointId, deliveryId);
  } catch (error) {
    if (error instanceof TerminalError && error.code === 'row_unreadable') await webhooks.park(endpointId, deliveryId);
    throw error;
  }
}

async function send(tools: SendTools, { delivery, endpoint, inFlight, atMs }: Claimed): Promise<Sent> {
  const { secrets: signer, transport, bodies, clock } = tools;
  const secrets = await Promise.all(
    activeSecrets(endpoint, clock.nowMs()).map((secret) => signer.secretOf(endpoint.id, secret)),
  );
  const body = delivery.body ?? (await bodies(delivery.eventId));
  invariant(body !== undefined, `the event ${delivery.eventId} is not in the Ledger`);
  const startedAtMs = clock.nowMs();
  if (startedAtMs - atMs > LATEST_START_MS) return 'too_late';
  const headers = headersOf(signer, secrets, { id: delivery.eventId, atMs: wireMs(clock), body });
  const group = groupOf(delivery);
  const count = (change: 1 | -1) => inFlight?.set(group, (inFlight.get(group) ?? 0) + change);
  let isolated = Promise.resolve(false);
  const isolateNow = (blocksSender: boolean): void => {
    // Isolate the endpoint now, so that its next deliveries do not block shared senders. The lane's first run waits
    // until this call has ended, because a run that finds the lane empty ends the isolation.
    if (endpoint.slow === undefined)
      isolated = isolate(tools, delivery, clock.nowMs(), { blocksSender, delaySeconds: AFTER_CALL_SECONDS });
  };
  count(1);
  const result = await transport.post({ url: endpoint.url, headers, body }, [
    { afterMs: CROWDED_MS, notify: () => (inFlight?.get(group) ?? 0) >= CROWD && isolateNow(false) },
    { afterMs: SLOW_MS, notify: () => isolateNow(inFlight !== undefined) },
  ]);
  count(-1);
  await isolated;
  return { startedAtMs, result };
}

/**
 * Builds the headers of an attempt (Standard Webhooks 1.0.0, "Webhook headers"). Each attempt has a new signature, but
 * the same id.
 */
function headersOf(
  signer: WebhookSecrets,
  secrets: readonly string[],
  message: { readonly id: string; readonly atMs: number; readonly body: string },
): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Payonce-Webhooks/1',
    'webhook-id': message.id,
    'webhook-timestamp': String(Math.floor(message.atMs / 1000)),
    'webhook-signature': signer.sign(secrets, message),
  };
}

async function record(
  tools: SendTools,
  { delivery: taken, endpoint }: Claimed,
  attempt: { readonly startedAtMs: number; readonly result: AttemptResult },
): Promise<SendOutcome> {
  const { webhooks, clock, entropy } = tools;
  const { slow, url } = endpoint;
  const nowMs = clock.nowMs();
  const after = afterAttempt(taken, attempt, nowMs, entropy.fraction());
  const late = isSlow(attempt, nowMs);
  const goesToLane = slow !== undefined || (late && (await isolate(tools, taken, nowMs)));
  const reason = after.disable ?? (isSlowForWholeSchedule(slow, attempt.result, nowMs) ? 'failing' : undefined);
  const disable = reason === 'failing' && (await acceptsOtherEvents(webhooks, taken, nowMs)) ? undefined : reason;
  const change =
    disable === undefined
      ? await stateAfter(webhooks, endpoint, after.delivery, attempt.result)
      : ({ kind: 'disabled', reason: disable } as const);
  return rounds<SendOutcome>('these endpoints', async () => {
    const changing = change === undefined ? {} : await changeState(tools, taken, change, { url, atMs: nowMs });
    const isMoved = changing === 'moved';
    const ended = isMoved ? withNewAddress(taken, after.delivery, nowMs) : after.delivery;
    const delivery = goesToLane ? placedInLane(ended) : ended;
    const { deliveries: notifications = [], ...rows }: Changing = isMoved ? {} : changing;
    const outcome = await webhooks.write({ ...rows, deliveries: [{ was: taken, now: delivery }, ...notifications] });
    if (outcome.kind === 'written') {
      await followUp(tools, delivery, nowMs);
      await enqueueAtOnce(
        tools,
        taken,
        notifications.flatMap(({ now }) => tasksFor(now)),
      );
      return outcomeOf(delivery, attempt.result, { disable: isMoved ? undefined : disable, late });
    }
    // A conflict does not always mean that a rival took over: if the change includes the list of endpoints, that list
    // may have changed. Only a changed delivery means a takeover.
    const found = change === undefined ? undefined : await webhooks.readDelivery(taken.endpointId, taken.id);
    return found?.revision === taken.revision ? 'again' : 'superseded';
  });
}

function isSlowForWholeSchedule(slow: WebhookEndpoint['slow'], result: AttemptResult, nowMs: number): boolean {
  return slow !== undefined && nowMs - slow.sinceMs > SCHEDULE_MS && !isAccepted(result);
}

function isAccepted(result: AttemptResult): boolean {
  return result.kind === 'answered' && result.status >= 200 && result.status < 300;
}

function outcomeOf(
  delivery: Delivery,
  result: AttemptResult,
  { disable, late }: { readonly disable: Disabled['reason'] | undefined; readonly late: boolean },
): SendOutcome {
  if (disable !== undefined) return 'disabled';
  if (isAccepted(result) && delivery.status === 'delivered') return late ? 'delivered_late' : 'delivered';
  return late ? 'failed_late' : 'failed';
}

/**
 * The mark is not part of the attempt's transaction: many attempts can be slow at the same time, and the first mark is
 * enough. The lane is woken before the endpoint is marked, so that every process that reads the mark finds a running
 * lane.
 *
 * @param call describes an attempt in flight: whether it blocks a shared sender, and the delay of the lane's first run
 * @returns false when the endpoint was deleted or could not be marked; if it exists, the next slow attempt marks it
 */
async function isolate(
  tools: SendTools,
  { tenantId, mode, endpointId }: Delivery,
  sinceMs: number,
  { blocksSender, delaySeconds } = { blocksSender: false, delaySeconds: 0 },
): Promise<boolean> {
  const { webhooks, report } = tools;
  try {
    return await rounds<boolean>('these endpoints', async () => {
      const was = await webhooks.readBook({ tenantId, mode });
      const known = endpointOf(was, endpointId);
      const isNew = known !== undefined && known.slow === undefined;
      const late = blocksSender ? withLateAttempt(was.late, sinceMs) : was.late;
      if (!isNew && late === was.late) return known !== undefined;
      if (isNew) await wakeLane(tools, { tenantId, mode }, endpointId);
      const next = late === undefined ? was : { ...was, late };
      const now = isNew ? withEndpoint(next, { ...known, slow: { sinceMs } }) : { ...next, revision: was.revision + 1 };
      if ((await webhooks.write({ book: { was, now } })).kind !== 'written') return 'again';
      if (isNew) await enqueueAtOnce(tools, was, [{ kind: 'lane', endpointId }], delaySeconds);
      return known !== undefined;
    });
  } catch (error) {
    report(error);
    return false;
  }
}

/** An endpoint must not be disabled only because it cannot process one particular event. */
function acceptsOtherEvents(webhooks: WebhookStore, { endpointId }: Delivery, nowMs: number): Promise<boolean> {
  const times = LOOKED_AT_SINCE.map((part) => Math.ceil(nowMs - part * SHORTEST_SCHEDULE_MS));
  return hasAccepted(webhooks, endpointId, { afterMs: nowMs - SHORTEST_SCHEDULE_MS, times });
}

/** @param times times from which deliveries are checked in addition to the latest ones, in Unix milliseconds */
async function hasAccepted(
  webhooks: WebhookStore,
  endpointId: string,
  { afterMs, times }: { readonly afterMs: number; readonly times: readonly number[] },
): Promise<boolean> {
  for (const atMs of [undefined, ...times]) {
    const page = atMs === undefined ? {} : { after: idsBefore(atMs), oldestFirst: true as const };
    const found = await webhooks.listDeliveries(endpointId, { limit: LOOKED_AT, ...page });
    if (hasSuccessAfter(found, afterMs)) return true;
    if (found.length < LOOKED_AT) return false;
  }
  return false;
}

/**
 * @param endpoint the endpoint as the attempt's claim read it
 * @param ended the delivery with the result of the attempt
 */
async function stateAfter(
  webhooks: WebhookStore,
  { id, failing }: WebhookEndpoint,
  ended: Delivery,
  result: AttemptResult,
): Promise<StateChange | undefined> {
  if (isAccepted(result)) return failing === undefined ? undefined : { kind: 'recovered' };
  if (failing !== undefined || !canBeginFailure(ended)) return undefined;
  const sinceMs = scheduleBegan(ended);
  const isAccepting = await hasAccepted(webhooks, id, { afterMs: sinceMs, times: [sinceMs] });
  return isAccepting ? undefined : { kind: 'failing', sinceMs };
}

type Changing = Pick<WebhookChange, 'book' | 'deliveries' | 'notice'>;

/**
 * The caller writes the rows in one transaction with the result of the attempt, so each change has exactly one event. In
 * the diagram, "list" is the row with the tenant's endpoints, and its number is the revision:
 *
 *   A ── read list 3 ── attempt A failed, list 4: failing, event ✓
 *   B ──── read list 3 ──── list 4 ✗ ── read list 4: is failing ── attempt B failed ✓
 *
 * @param attempt the address to which the attempt was sent, and the time of its result in Unix milliseconds
 * @returns no change when the endpoint was deleted, is disabled or already has the state; `moved` when the endpoint
 * must be disabled, but its URL has changed and the new URL was not tried
 */
async function changeState(
  { webhooks, digest }: SendTools,
  { tenantId, mode, endpointId }: Delivery,
  change: StateChange,
  attempt: { readonly url: string; readonly atMs: number },
): Promise<Changing | 'moved'> {
  const book = await webhooks.readBook({ tenantId, mode });
  const known = endpointOf(book, endpointId);
  if (known === undefined || known.disabled !== undefined) return {};
  if (change.kind === 'disabled' && known.url !== attempt.url) return 'moved';
  const endpoint = withState(known, change, attempt);
  if (endpoint === undefined) return {};
  const now = withEndpoint(book, endpoint);
  const notice = noticeOf(digest, book, endpoint, change.kind, attempt.atMs);
  const others = { ...now, endpoints: now.endpoints.filter(({ id }) => id !== endpointId) };
  const notifications = deliveriesFor(digest, others, notice, attempt.atMs);
  return { book: { was: book, now }, deliveries: notifications.map((each) => ({ now: each })), notice };
}

async function followUp(tools: SendTools, delivery: Delivery, nowMs: number): Promise<void> {
  if (delivery.dueAtMs === undefined) return;
  const waitMs = delivery.dueAtMs - nowMs;
  if (waitMs <= LONGEST_DELAY_MS) await enqueueAtOnce(tools, delivery, tasksFor(delivery), Math.ceil(waitMs / 1000));
}
