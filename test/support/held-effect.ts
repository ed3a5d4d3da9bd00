import { systemDigest } from '../../lambdas/adapters/system/platform.ts';
import type { Effect } from '../../lambdas/app/ports/effect-store.ts';
import type { Hold } from '../../lambdas/app/ports/payment-store.ts';
import { callbackOperation, ownerToken } from '../../lambdas/core/ids.ts';

/** An effect that has nothing but its place in the queue. */
export function heldEffect(hold: Hold): Effect {
  const { paymentId, authorizedAtMs: recordedAtMs } = hold;
  const operationId = callbackOperation(systemDigest, 'memory', paymentId);
  return { record: { operationId, paymentId, owner: ownerToken('owner-a'), recordedAtMs }, transitions: [], hold };
}
