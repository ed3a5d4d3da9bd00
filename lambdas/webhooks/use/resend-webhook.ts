import { askedFor, deliveryObject, isDeliveryId } from '../domain/webhook-delivery.ts';
import { endpointOf } from '../domain/webhook-endpoint.ts';
import { enqueueAtOnce } from './fan-out-webhooks.ts';
import { takeWebhookEffect, type WebhookEffectOutcome, type WebhookTools } from './webhook-effect.ts';
import { answerOf, type KeyedRequest, type NotFound } from './webhook-endpoints.ts';
import type { WebhookTasks } from './webhooks.ts';

export interface AskTools extends WebhookTools {
  readonly tasks: WebhookTasks;
  readonly report: (error: unknown) => void;
}

export interface ResendWebhook extends KeyedRequest {
  readonly endpointId: string;
  readonly deliveryId: string;
}

/** In order of precedence. */
export type ResendRefusal = NotFound | { readonly kind: 'endpoint_disabled' };

/** Requests one more attempt of a delivery in any status. @throws as `takeWebhookEffect` */
export async function resendWebhook(
  tools: AskTools,
  request: ResendWebhook,
): Promise<WebhookEffectOutcome<ResendRefusal>> {
  const { caller, endpointId, deliveryId } = request;
  const outcome = await takeWebhookEffect<ResendRefusal>(tools, {
    ...request,
    decide: async () => {
      const endpoint = endpointOf(await tools.webhooks.readBook(caller), endpointId);
      if (endpoint === undefined) return { kind: 'not_found' };
      const was = isDeliveryId(deliveryId) ? await tools.webhooks.readDelivery(endpointId, deliveryId) : undefined;
      if (was === undefined) return { kind: 'not_found' };
      if (endpoint.disabled !== undefined) return { kind: 'endpoint_disabled' };
      const now = askedFor(was, tools.clock.nowMs());
      const change = now === was ? {} : { deliveries: [{ was, now }] };
      return { kind: 'change', change, answer: answerOf(202, deliveryObject(now)) };
    },
  });
  if (outcome.kind === 'first') await enqueueAtOnce(tools, caller, [{ kind: 'attempt', endpointId, deliveryId }]);
  return outcome;
}
