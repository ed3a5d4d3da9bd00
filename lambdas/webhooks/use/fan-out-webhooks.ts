import type { PayonceEvent } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import { type OperationId, storedOperationId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import { refuseTooOld } from '../../once/use/consume-event.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { DELIVERY_KEPT_SECONDS, type Delivery, newDelivery, type WebhookMessage } from '../domain/webhook-delivery.ts';
import { type EndpointList, groupOf, isSubscribedTo, type WebhookOwner } from '../domain/webhook-endpoint.ts';
import type { WebhookStore, WebhookTask, WebhookTasks } from './webhooks.ts';

const DELIVERY_KEPT_HOURS = DELIVERY_KEPT_SECONDS / 3_600;

export interface FanOutTools {
  readonly webhooks: WebhookStore;
  readonly tasks: WebhookTasks;
  readonly runner: OperationRunner;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly digest: Digest;
  /** Called when tasks could not be enqueued immediately. The sweep enqueues them within about three minutes. */
  readonly report: (error: unknown) => void;
}

/**
 * A delivery's id is derived from the endpoint and the event, and its row must not exist yet, so no delivery is created
 * twice. After a crash between two deliveries, the redelivered event creates the missing ones.
 *
 * @throws RetryableError, AmbiguousError: the event can be processed again
 * @throws TerminalError as `refuseTooOld`: the event's deliveries may already be deleted
 */
export async function fanOut(tools: FanOutTools, event: PayonceEvent): Promise<'fanned_out' | 'before'> {
  const { webhooks, runner, clock, digest } = tools;
  refuseTooOld(event, DELIVERY_KEPT_HOURS, clock.nowMs());
  return commitOnce<undefined, 'fanned_out' | 'before'>(runner, {
    operationId: fanOutOperation(event.event.id),
    find: async () => undefined,
    prepare: async () => undefined,
    write: async () => {
      const book = await webhooks.readBook({ tenantId: event.tenant, mode: event.mode });
      const wanted = deliveriesFor(digest, book, webhookMessage(event), clock.nowMs());
      const written = await Promise.all(wanted.map((now) => webhooks.write({ deliveries: [{ now }] })));
      const made = wanted.filter((_, index) => written[index]?.kind === 'written');
      await enqueueAtOnce(tools, book, made.flatMap(tasksFor));
      return { kind: 'done', outcome: made.length === 0 && wanted.length > 0 ? 'before' : 'fanned_out' };
    },
  });
}

export function deliveriesFor(
  digest: Digest,
  book: EndpointList,
  message: WebhookMessage,
  nowMs: number,
): readonly Delivery[] {
  return book.endpoints
    .filter((endpoint) => isSubscribedTo(endpoint, message.type))
    .map((endpoint) => newDelivery(digest, book, endpoint, message, nowMs));
}

export function webhookMessage({ event, occurredAtMs }: PayonceEvent): WebhookMessage {
  return { eventId: event.id, type: event.type, occurredAtMs };
}

/** Deliveries in a lane have no messages. */
export function tasksFor({ endpointId, id, apart }: Delivery): readonly WebhookTask[] {
  return apart === true ? [] : [{ kind: 'attempt', endpointId, deliveryId: id }];
}

/** The tasks are already in the due queue, so a failure here only delays them until the sweep enqueues them. */
export async function enqueueAtOnce(
  { tasks, report }: Pick<FanOutTools, 'tasks' | 'report'>,
  owner: WebhookOwner,
  due: readonly WebhookTask[],
  delaySeconds = 0,
): Promise<void> {
  try {
    const group = groupOf(owner);
    const grouped = due.map((task) => ({ task, group }));
    if (due.length > 0) await tasks.enqueue(grouped, delaySeconds);
  } catch (error) {
    report(error);
  }
}

function fanOutOperation(eventId: string): OperationId {
  return storedOperationId(`whf_${eventId}`);
}
