import type { ActivityLog } from '../../activity/use/activity-log.ts';
import type { Digest } from '../../kernel/digest.ts';
import { rounds } from '../../once/use/rounds.ts';
import { deriveDeliveryId, type WebhookMessage, withoutAnswer } from '../domain/webhook-delivery.ts';
import type { WebhookOwner } from '../domain/webhook-endpoint.ts';
import type { WebhookStore } from './webhooks.ts';

export interface EraseAnswersTools {
  readonly webhooks: Pick<WebhookStore, 'readBook' | 'readDelivery' | 'write'>;
  readonly digest: Digest;
  readonly activity: Pick<ActivityLog, 'listActivity'>;
}

const ENTRIES_AT_ONCE = 1_000;

/**
 * Deletes the receivers' responses to events of an erased payment or order, because a response can quote its event. If
 * an attempt is running, its result is not recorded. After its lease ends, the attempt is repeated without the erased
 * data.
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

/** The ids are needed because the deliveries of a deleted endpoint still exist. */
async function deletedEndpoints(
  { activity }: Pick<EraseAnswersTools, 'activity'>,
  { tenantId, mode }: WebhookOwner,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (let from = 0; ; ) {
    const page = { order: 'oldest_first', from, limit: ENTRIES_AT_ONCE } as const;
    const entries = await activity.listActivity({ tenantId, mode }, page);
    found.push(...entries.filter(({ action }) => action === 'webhook_endpoint.deleted').flatMap(({ about }) => about));
    const newest = entries.at(-1);
    if (newest === undefined || entries.length < ENTRIES_AT_ONCE) return found;
    from = newest.sequence;
  }
}
