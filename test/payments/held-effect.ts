import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import type { Hold } from '../../lambdas/payments/use/payment-store.ts';

export function effectWithHold(hold: Hold): Effect {
  const { paymentId, authorizedAtMs: recordedAtMs } = hold;
  const operationId = callbackOperation(systemDigest, 'memory', paymentId);
  return { record: { operationId, paymentId, owner: ownerToken('owner-a'), recordedAtMs }, transitions: [], hold };
}
