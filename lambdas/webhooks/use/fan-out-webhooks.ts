import type { PayonceEvent } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import { type OperationId, storedOperationId } from '../../kernel/ids.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { effectExpirySeconds } from '../../once/domain/idempotency.ts';
import { commitOnce, type Written } from '../../once/use/execute-once.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { type Delivery, newDelivery, type WebhookMessage } from '../domain/webhook-delivery.ts';
import { type EndpointBook, wants } from '../domain/webhook-endpoint.ts';
import type { WebhookStore, WebhookTask, WebhookTasks } from './webhooks.ts';

export interface FanOutTools {
  readonly webhooks: WebhookStore;
  readonly tasks: WebhookTasks;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
  /** Reports a failed immediate enqueue. The sweep enqueues the task within a minute. */
  readonly report: (error: unknown) => void;
}

/**
 * Creates a delivery for each endpoint that subscribes to the event. One transaction writes the deliveries, their due rows and
 * the record of the event, so all deliveries are created, or none, and none twice.
 *
 * @throws RetryableError, AmbiguousError: the event can be processed again
 */
export async function fanOut(tools: FanOutTools, event: PayonceEvent): Promise<'fanned_out' | 'before'> {
  const operationId = fanOutOperation(event.event.id);
  return commitOnce<{ readonly isFirst: boolean }, 'fanned_out' | 'before'>(tools.runner, {
    operationId,
    find: async () => ((await tools.webhooks.readEffect(operationId)) === undefined ? undefined : 'before'),
    prepare: async () => ({ isFirst: true }),
    write: ({ isFirst }) => writeDeliveries(tools, operationId, event, isFirst),
  });
}

async function writeDeliveries(
  tools: FanOutTools,
  operationId: OperationId,
  event: PayonceEvent,
  isFirst: boolean,
): Promise<Written<{ readonly isFirst: boolean }, 'fanned_out' | 'before'>> {
  const { webhooks, clock, entropy, digest } = tools;
  const nowMs = clock.nowMs();
  const wanted = deliveriesFor(
    digest,
    await webhooks.readBook({ tenantId: event.tenant, mode: event.mode }),
    messageOf(event),
    nowMs,
  );
  // The first round assumes that all deliveries are new. Later rounds leave out those that exist already, from a replay or from
  // a fan-out whose record has expired.
  const deliveries = isFirst ? wanted : await absent(webhooks, wanted);
  const outcome = await webhooks.write({
    record: {
      operationId,
      owner: entropy.ownerToken(),
      recordedAtMs: nowMs,
      expiresAtSeconds: effectExpirySeconds(nowMs, entropy.fraction()),
    },
    deliveries: deliveries.map((now) => ({ now })),
  });
  if (outcome.kind === 'recorded_before') return { kind: 'done', outcome: 'before' };
  if (outcome.kind !== 'written') return { kind: 'again', prepared: { isFirst: false } };
  await enqueueAtOnce(tools, deliveries.map(attemptOf));
  return { kind: 'done', outcome: 'fanned_out' };
}

export function deliveriesFor(
  digest: Digest,
  book: EndpointBook,
  message: WebhookMessage,
  nowMs: number,
): readonly Delivery[] {
  return book.endpoints
    .filter((endpoint) => wants(endpoint, message.type))
    .map((endpoint) => newDelivery(digest, book, endpoint, message, nowMs));
}

export function messageOf({ event, occurredAtMs }: PayonceEvent): WebhookMessage {
  return { eventId: event.id, type: event.type, occurredAtMs };
}

export function attemptOf({ endpointId, id }: Delivery): WebhookTask {
  return { kind: 'attempt', endpointId, deliveryId: id };
}

/** The tasks are in the due queue already, so a failure here only delays them until the next sweep. */
export async function enqueueAtOnce(
  { tasks, report }: Pick<FanOutTools, 'tasks' | 'report'>,
  due: readonly WebhookTask[],
  delaySeconds = 0,
): Promise<void> {
  try {
    if (due.length > 0) await tasks.enqueue(due, delaySeconds);
  } catch (error) {
    report(error);
  }
}

async function absent(webhooks: WebhookStore, wanted: readonly Delivery[]): Promise<readonly Delivery[]> {
  const found = await Promise.all(wanted.map(({ endpointId, id }) => webhooks.readDelivery(endpointId, id)));
  return wanted.filter((_, index) => found[index] === undefined);
}

function fanOutOperation(eventId: string): OperationId {
  return storedOperationId(`whf_${eventId}`);
}
