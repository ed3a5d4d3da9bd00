import * as z from 'zod';
import { type Handled, refusal } from '../../http/http-api.ts';
import { problem } from '../../http/problems.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { deriveReplayId, LONGEST_REPLAY_SECONDS } from '../domain/webhook-replay.ts';
import { acceptReplay } from '../use/replay-webhooks.ts';
import { resendWebhook } from '../use/resend-webhook.ts';
import { type Call, handled, type Route, readKeyed } from './route.ts';
import { replayBody } from './webhook-schemas.ts';

export const postResend: Route = {
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/deliveries/{delivery}/resend',
  scope: Scopes.paymentsWrite,
  handle: async (call) => {
    const keyed = readKeyed(call, 'POST', z.strictObject({}));
    if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
    const deliveryId = call.pieces['delivery'] ?? '';
    return handled(call, await resendWebhook(call.tools, { ...keyed.value.request, endpointId: call.id, deliveryId }));
  },
};

export const postReplay: Route = {
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/replay',
  scope: Scopes.paymentsWrite,
  handle: replay,
};

async function replay(call: Call): Promise<Handled> {
  const keyed = readKeyed(call, 'POST', replayBody);
  if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
  const { request, scope, body } = keyed.value;
  const { from, until, events } = body;
  if (from >= until) {
    return refusal(problem('invalid_request', 'from must be before until.', 'from'), call.request);
  }
  if (until - from > LONGEST_REPLAY_SECONDS) {
    return refusal(problem('invalid_request', 'from must be at most 31 days before until.', 'from'), call.request);
  }
  const outcome = await acceptReplay(call.tools, {
    ...request,
    endpointId: call.id,
    replayId: deriveReplayId(call.tools.digest, scope),
    fromMs: from * 1000,
    untilMs: until * 1000,
    ...(events === undefined ? {} : { events }),
  });
  return handled(call, outcome);
}
