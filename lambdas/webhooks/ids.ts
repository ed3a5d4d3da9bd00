import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import { type KeyScope, scopeParts } from '../kernel/idempotency-key.ts';
import type { OperationId } from '../kernel/ids.ts';

/** The same request always yields the same id, so it never creates a second endpoint. */
export function deriveEndpointId(digest: Digest, scope: KeyScope): string {
  return `we_${derivedCharacters(digest, ['webhook_endpoint', ...scopeParts(scope)])}`;
}

/** The same request always yields the same id, so it never creates a second replay. */
export function deriveReplayId(digest: Digest, scope: KeyScope): string {
  return `rpl_${derivedCharacters(digest, ['webhook_replay', ...scopeParts(scope)])}`;
}

/** The same request always yields the same id. */
export function webhookOperation(digest: Digest, scope: KeyScope): OperationId {
  return `${OperationPrefix.webhookRequest}${derivedCharacters(digest, ['webhook_request', ...scopeParts(scope)])}` as OperationId;
}

export function attemptOperation(endpointId: string, deliveryId: string): OperationId {
  return `wha_${endpointId}_${deliveryId}` as OperationId;
}

export function replayOperation(replayId: string): OperationId {
  return `whr_${replayId}` as OperationId;
}
