import type { ActivityLog } from '../../activity/use/activity-log.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Clock } from '../../kernel/world.ts';
import { rounds } from '../../once/use/rounds.ts';
import {
  DELIVERY_KEPT_SECONDS,
  deriveDeliveryId,
  type WebhookMessage,
  withoutAnswer,
} from '../domain/webhook-delivery.ts';
import type { WebhookOwner } from '../domain/webhook-endpoint.ts';
import type { WebhookStore } from './webhooks.ts';

export interface EraseAnswersTools {
  readonly webhooks: Pick<WebhookStore, 'readBook' | 'readDelivery' | 'write'>;
  readonly digest: Digest;
  readonly activity: Pick<ActivityLog, 'listActivity'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

const ENTRIES_AT_ONCE = 1_000;

/**
 * Deletes what the receivers answered to events of an erased payment or order: an answer can quote its event. The result of an attempt that
 * is running is not recorded, and the attempt is made again, without what was erased.
 *
 * @param events of the payment or the order
 */
export async function eraseAnswers(
  tools: EraseAnswersTools,
  owner: WebhookOwner,
  events: readonly Pick<WebhookMessage, 'eventId' | 'occurredAtMs'>[],
): Promise<void> {
  const { webhooks, digest } = tools;
  const { endpoints } = await webhooks.readBook(owner);
  const ids = [...endpoints.map(({ id }) => id), ...(await deletedEndpoints(tools, owner))];
  for (const event of events) {
    for (const id of ids) {
      await rounds<true>('this delivery', async () => {
        const was = await webhooks.readDelivery(id, deriveDeliveryId(digest, id, event));
        const now = was === undefined ? undefined : withoutAnswer(was);
        if (was === undefined || now === undefined) return true;
        return (await webhooks.write({ deliveries: [{ was, now }] })).kind === 'written' ? true : 'again';
      });
    }
  }
}

/** The endpoints of which there can be deliveries although they were deleted. */
async function deletedEndpoints(
  { activity, clock }: Pick<EraseAnswersTools, 'activity' | 'clock'>,
  { tenantId, mode }: WebhookOwner,
): Promise<readonly string[]> {
  const sinceMs = clock.nowMs() - DELIVERY_KEPT_SECONDS * 1_000;
  const found: string[] = [];
  for (let from: number | undefined; ; ) {
    const page = { order: 'newest_first' as const, limit: ENTRIES_AT_ONCE, ...(from === undefined ? {} : { from }) };
    const entries = await activity.listActivity({ tenantId, mode }, page);
    const recent = entries.filter(({ occurredAtMs }) => occurredAtMs >= sinceMs);
    found.push(...recent.filter(({ action }) => action === 'webhook_endpoint.deleted').flatMap(({ about }) => about));
    if (recent.length < ENTRIES_AT_ONCE) return found;
    from = entries.at(-1)?.sequence;
  }
}
