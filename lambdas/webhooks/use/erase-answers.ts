import type { Digest } from '../../kernel/digest.ts';
import { rounds } from '../../once/use/rounds.ts';
import { deriveDeliveryId, type WebhookMessage, withoutAnswer } from '../domain/webhook-delivery.ts';
import type { WebhookOwner } from '../domain/webhook-endpoint.ts';
import type { WebhookStore } from './webhooks.ts';

export interface EraseAnswersTools {
  readonly webhooks: Pick<WebhookStore, 'readBook' | 'readDelivery' | 'write'>;
  readonly digest: Digest;
}

/**
 * Deletes what the receivers answered to events of an erased payment or order: an answer can quote its event. The result of an attempt that
 * is running is not recorded, and the attempt is made again, without what was erased.
 *
 * @param events of the payment or the order
 */
export async function eraseAnswers(
  { webhooks, digest }: EraseAnswersTools,
  owner: WebhookOwner,
  events: readonly Pick<WebhookMessage, 'eventId' | 'occurredAtMs'>[],
): Promise<void> {
  const { endpoints } = await webhooks.readBook(owner);
  for (const event of events) {
    for (const { id } of endpoints) {
      await rounds<true>('this delivery', async () => {
        const was = await webhooks.readDelivery(id, deriveDeliveryId(digest, id, event));
        const now = was === undefined ? undefined : withoutAnswer(was);
        if (was === undefined || now === undefined) return true;
        return (await webhooks.write({ deliveries: [{ was, now }] })).kind === 'written' ? true : 'again';
      });
    }
  }
}
