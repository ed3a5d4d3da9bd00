import type { ActivityDraft } from '../../activity/domain/activity.ts';
import { hasCall, withCall } from '../domain/keyed-calls.ts';
import { deliveryObject, isDeliveryId, withRequestedAttempt } from '../domain/webhook-delivery.ts';
import { endpointOf } from '../domain/webhook-endpoint.ts';
import { enqueueAtOnce } from './fan-out-webhooks.ts';
import { takeWebhookEffect, type WebhookEffectOutcome, type WebhookTools } from './webhook-effect.ts';
import { answerOf, type KeyExpired, type KeyedRequest, type NotFound } from './webhook-endpoints.ts';
import type { WebhookTasks } from './webhooks.ts';

export interface AskTools extends WebhookTools {
  readonly tasks: WebhookTasks;
  readonly report: (error: unknown) => void;
}

export interface ResendWebhook extends KeyedRequest {
  readonly endpointId: string;
  readonly deliveryId: string;
}

/** `key_expired` takes precedence over `endpoint_disabled`. */
export type ResendRefusal = NotFound | { readonly kind: 'endpoint_disabled' } | KeyExpired;

/** Requests one more attempt for a delivery in any status. @throws as `takeWebhookEffect` */
export async function resendWebhook(
  tools: AskTools,
  request: ResendWebhook,
): Promise<WebhookEffectOutcome<ResendRefusal>> {
  const { caller, cause, endpointId, deliveryId, operationId } = request;
  const outcome = await takeWebhookEffect<ResendRefusal>(tools, {
    ...request,
    decide: async () => {
      const endpoint = endpointOf(await tools.webhooks.readBook(caller), endpointId);
      if (endpoint === undefined) return { kind: 'not_found' };
      const was = isDeliveryId(deliveryId) ? await tools.webhooks.readDelivery(endpointId, deliveryId) : undefined;
      if (was === undefined) return { kind: 'not_found' };
      if (hasCall(was.resends, operationId)) return { kind: 'key_expired' };
      if (endpoint.disabled !== undefined) return { kind: 'endpoint_disabled' };
      const asked = withRequestedAttempt(was, tools.clock.nowMs());
      const answer = answerOf(202, deliveryObject(asked));
      // The running attempt satisfies the request. The delivery stays unchanged, so that the attempt's result can be
      // recorded.
      if (asked === was) return { kind: 'change', change: {}, answer };
      const now = { ...asked, resends: withCall(was.resends, operationId) };
      const { tenantId, mode } = caller;
      const activity: ActivityDraft = {
        chain: { tenantId, mode },
        action: 'webhooks.resend_requested',
        actor: cause,
        about: [deliveryId, endpointId],
        occurredAtMs: tools.clock.nowMs(),
      };
      return { kind: 'change', change: { deliveries: [{ was, now }], activity }, answer };
    },
  });
  if (outcome.kind === 'first') await enqueueAtOnce(tools, caller, [{ kind: 'attempt', endpointId, deliveryId }]);
  return outcome;
}
