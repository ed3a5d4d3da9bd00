import type { Digest } from '../../kernel/digest.ts';
import { deliveryObject, testDelivery, testMessage } from '../domain/webhook-delivery.ts';
import { endpointOf } from '../domain/webhook-endpoint.ts';
import { enqueueAtOnce, tasksFor } from './fan-out-webhooks.ts';
import type { AskTools, ResendRefusal } from './resend-webhook.ts';
import { takeWebhookEffect, type WebhookEffectOutcome } from './webhook-effect.ts';
import { answerOf, type KeyedRequest } from './webhook-endpoints.ts';

/**
 * The event is signed and delivered like every other event, but with only one attempt.
 *
 * @throws as `takeWebhookEffect`
 */
export async function testWebhook(
  tools: AskTools & { readonly digest: Digest },
  request: KeyedRequest & { readonly endpointId: string },
): Promise<WebhookEffectOutcome<ResendRefusal>> {
  const { caller, cause, endpointId, operationId } = request;
  const { webhooks, digest, clock } = tools;
  const made: ReturnType<typeof testDelivery>[] = [];
  const book = await webhooks.readBook(caller);
  const outcome = await takeWebhookEffect<ResendRefusal>(tools, {
    ...request,
    decide: async () => {
      const endpoint = endpointOf(await webhooks.readBook(caller), endpointId);
      if (endpoint === undefined) return { kind: 'not_found' };
      if (endpoint.disabled !== undefined) return { kind: 'endpoint_disabled' };
      const atMs = clock.nowMs();
      const message = testMessage(digest, endpoint, caller, { mark: operationId, atMs });
      const now = testDelivery(digest, caller, endpoint, message, atMs);
      made.splice(0, 1, now);
      const { tenantId, mode } = caller;
      const activity = {
        chain: { tenantId, mode },
        action: 'webhooks.test_requested' as const,
        actor: cause,
        about: [now.id, endpointId],
        occurredAtMs: atMs,
      };
      return {
        kind: 'change',
        change: { deliveries: [{ now }], activity },
        answer: answerOf(202, deliveryObject(now)),
      };
    },
  });
  if (outcome.kind === 'first') await enqueueAtOnce(tools, book, made.flatMap(tasksFor));
  return outcome;
}
