import type { Digest } from '../../kernel/digest.ts';
import { TerminalError } from '../../kernel/faults.ts';
import { attemptOperation } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import type { ClaimStep, OperationRunner } from '../../once/use/operation-runner.ts';
import { rounds } from '../../once/use/rounds.ts';
import {
  type AttemptResult,
  afterAttempt,
  begun,
  type Delivery,
  disabledMessage,
  dropped,
  isDue,
  LATEST_START_MS,
  takesSome,
} from '../domain/webhook-delivery.ts';
import {
  activeSecrets,
  type Disabled,
  endpointOf,
  type WebhookEndpoint,
  withEndpoint,
} from '../domain/webhook-endpoint.ts';
import { attemptOf, deliveriesFor, enqueueAtOnce } from './fan-out-webhooks.ts';
import type {
  EventBodies,
  WebhookChange,
  WebhookSecrets,
  WebhookStore,
  WebhookTasks,
  WebhookTransport,
} from './webhooks.ts';

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

/** In order of precedence. */
export type SendOutcome =
  /** Delivered already, claimed by a rival, or not yet due. The message is complete. */
  | 'nothing_due'
  /** Its endpoint was deleted or disabled. */
  | 'dropped'
  /** Too much of the lease had passed to send safely. Nothing was sent; the sweep retries when the lease ends. */
  | 'too_late'
  /** A rival has taken over since. Its result is recorded; this one is not. */
  | 'superseded'
  | 'delivered'
  | 'tried_in_vain'
  /** The last scheduled attempt failed, or the endpoint answered 410: the endpoint was disabled. */
  | 'disabled';

/** SQS delays a message by at most 15 minutes (Amazon SQS, "Delay queues"). The sweep handles longer waits. Seconds. */
const LONGEST_DELAY_SECONDS = 900;

/** Number of the endpoint's latest deliveries that are checked for a success before it is disabled. */
const LATEST_LOOKED_AT = 100;

/**
 * Makes one attempt of a delivery if it is due: claim, send, commit. The delivery's row is the record: of two concurrent
 * messages one claims the attempt. If the sender crashes, the end of its lease is in the due queue, and the next attempt has
 * the same id and the same body.
 *
 *   A ── claim (rev 2) ── send ── † …… lease ends
 *   B ──── claim ✗                        C ── claim (rev 3) ── send ── commit (rev 4)
 *
 * @throws RetryableError, AmbiguousError when the store fails: the sweep enqueues the delivery again
 */
export function sendWebhook(tools: SendTools, endpointId: string, deliveryId: string): Promise<SendOutcome> {
  // There is no release: the lease ends, and the sweep enqueues the delivery again.
  return tools.runner.run<Claimed, Sent, SendOutcome>(attemptOperation(endpointId, deliveryId), {
    claim: () => claim(tools, endpointId, deliveryId),
    execute: (claimed) => send(tools, claimed),
    commit: async (sent, { delivery }) => (sent === 'too_late' ? sent : record(tools, delivery, sent)),
  });
}

/** An attempt that this process has claimed. */
interface Claimed {
  /** As written by the claim, with its lease. */
  readonly delivery: Delivery;
  readonly endpoint: WebhookEndpoint;
  readonly atMs: number;
}

type Sent = { readonly startedAtMs: number; readonly result: AttemptResult } | 'too_late';

async function claim(
  { webhooks, clock }: SendTools,
  endpointId: string,
  deliveryId: string,
): Promise<ClaimStep<Claimed, SendOutcome>> {
  const delivery = await readOrPark(webhooks, endpointId, deliveryId);
  const atMs = clock.nowMs();
  if (delivery === undefined || !isDue(delivery, atMs)) return { kind: 'refused', outcome: 'nothing_due' };
  const endpoint = endpointOf(await webhooks.readBook(delivery), endpointId);
  if (endpoint === undefined || endpoint.disabled !== undefined) {
    await webhooks.write({ deliveries: [{ was: delivery, now: dropped(delivery) }] });
    return { kind: 'refused', outcome: 'dropped' };
  }
  const taken = begun(delivery, atMs);
  const outcome = await webhooks.write({ deliveries: [{ was: delivery, now: taken }] });
  if (outcome.kind !== 'written') return { kind: 'refused', outcome: 'nothing_due' };
  return { kind: 'claimed', held: { delivery: taken, endpoint, atMs } };
}

/**
 * A delivery that this code cannot read would be enqueued by every sweep. It leaves the due queue, and its message goes to the
 * dead-letter queue, from where it can be redriven after a fix.
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

async function send(
  { secrets: signer, transport, bodies, clock }: SendTools,
  { delivery, endpoint, atMs }: Claimed,
): Promise<Sent> {
  const secrets = await Promise.all(
    activeSecrets(endpoint, clock.nowMs()).map((secret) => signer.secretOf(endpoint.id, secret)),
  );
  const body = delivery.body ?? (await bodies(delivery.eventId));
  invariant(body !== undefined, `the event ${delivery.eventId} is in the Ledger`);
  const startedAtMs = clock.nowMs();
  if (startedAtMs - atMs > LATEST_START_MS) return 'too_late';
  const result = await transport.post({
    url: endpoint.url,
    headers: headersOf(signer, secrets, { id: delivery.eventId, atMs: startedAtMs, body }),
    body,
  });
  return { startedAtMs, result };
}

/** Standard Webhooks 1.0.0, "Webhook headers": the signature is new at each attempt; the id stays the same. */
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
  taken: Delivery,
  attempt: { readonly startedAtMs: number; readonly result: AttemptResult },
): Promise<SendOutcome> {
  const { webhooks, clock, entropy } = tools;
  const nowMs = clock.nowMs();
  const { delivery, disable: reason } = afterAttempt(taken, attempt, nowMs, entropy.fraction());
  const disable = reason === 'failing' && (await takesOthers(webhooks, taken, nowMs)) ? undefined : reason;
  return rounds<SendOutcome>('these endpoints', async () => {
    const disabling = disable === undefined ? {} : await disabled(tools, taken, { atMs: nowMs, reason: disable });
    const told = disabling.deliveries ?? [];
    const outcome = await webhooks.write({ ...disabling, deliveries: [{ was: taken, now: delivery }, ...told] });
    if (outcome.kind === 'written') {
      await followUp(tools, delivery, nowMs);
      await enqueueAtOnce(
        tools,
        told.map(({ now }) => attemptOf(now)),
      );
      return outcomeOf(delivery, attempt.result, disable);
    }
    // If the change includes the book, the conflict can be in the book. Only a changed delivery means that a rival took over.
    const found = disable === undefined ? undefined : await webhooks.readDelivery(taken.endpointId, taken.id);
    return found?.revision === taken.revision ? 'again' : 'superseded';
  });
}

function outcomeOf(delivery: Delivery, result: AttemptResult, disable: Disabled['reason'] | undefined): SendOutcome {
  if (disable !== undefined) return 'disabled';
  const taken = result.kind === 'answered' && result.status >= 200 && result.status < 300;
  return taken && delivery.status === 'delivered' ? 'delivered' : 'tried_in_vain';
}

/** Whether the endpoint accepts other events. One event that it cannot process must not disable it. */
async function takesOthers(webhooks: WebhookStore, { endpointId }: Delivery, nowMs: number): Promise<boolean> {
  return takesSome(await webhooks.listDeliveries(endpointId, { limit: LATEST_LOOKED_AT }), nowMs);
}

/** Disables the endpoint and notifies the tenant's other endpoints, unless it was disabled or deleted meanwhile. */
async function disabled(
  { webhooks, digest }: SendTools,
  { tenantId, mode, endpointId }: Delivery,
  off: Disabled,
): Promise<Pick<WebhookChange, 'book' | 'deliveries'>> {
  const book = await webhooks.readBook({ tenantId, mode });
  const known = endpointOf(book, endpointId);
  if (known === undefined || known.disabled !== undefined) return {};
  const endpoint: WebhookEndpoint = { ...known, disabled: off };
  const next = withEndpoint(book, endpoint);
  const told = deliveriesFor(digest, next, disabledMessage(digest, endpoint, book, off), off.atMs);
  return { book: { was: book, now: next }, deliveries: told.map((now) => ({ now })) };
}

async function followUp(tools: SendTools, delivery: Delivery, nowMs: number): Promise<void> {
  if (delivery.dueAtMs === undefined) return;
  const delaySeconds = Math.ceil((delivery.dueAtMs - nowMs) / 1000);
  if (delaySeconds <= LONGEST_DELAY_SECONDS) await enqueueAtOnce(tools, [attemptOf(delivery)], delaySeconds);
}
