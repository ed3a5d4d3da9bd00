import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { type OperationId, ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { OrphanedCallback } from '../../lambdas/payments/use/effect-store.ts';
import type { Api } from '../world/api.ts';

/** The callback is no longer retried. @param isForeign whether another program caused it */
export async function unmatchedCallback(
  { store, clock }: Api,
  name: string,
  isForeign = false,
  reason: OrphanedCallback['reason'] = isForeign ? 'payment_unknown' : 'charge_unknown',
): Promise<OperationId> {
  const operationId = callbackOperation(systemDigest, 'memory', name);
  const receivedAtMs = clock.nowMs();
  const orphan = {
    operationId,
    event: { processorName: 'memory', mode: 'test', eventId: name, type: 'charge.succeeded', chargeId: `ch_${name}` },
    reason,
    receivedAtMs,
    ...(isForeign ? { isForeign } : {}),
  } as const;
  const record = { operationId, owner: ownerToken('owner-a'), recordedAtMs: receivedAtMs };
  await store.recordEffect({ record, transitions: [], orphan });
  await store.giveUp(orphan);
  return operationId;
}
