import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import { type KeyScope, scopeParts } from '../kernel/idempotency-key.ts';
import type { OperationId } from '../kernel/ids.ts';

/** Derives an endpoint's id. The same request always yields the same id, so it never creates a second endpoint. */
export function deriveEndpointId(digest: Digest, scope: KeyScope): string {
  return `we_${derivedCharacters(digest, ['webhook_endpoint', ...scopeParts(scope)])}`;
}

/** Derives a replay's id. The same request always yields the same id, so it never creates a second replay. */
export function deriveReplayId(digest: Digest, scope: KeyScope): string {
  return `rpl_${derivedCharacters(digest, ['webhook_replay', ...scopeParts(scope)])}`;
}

/**
 * Derives the operation id of a webhook API request from the scope of its idempotency key. The same request always
 * yields the same id.
 */
export function webhookOperation(digest: Digest, scope: KeyScope): OperationId {
  return `${OperationPrefix.webhookRequest}${derivedCharacters(digest, ['webhook_request', ...scopeParts(scope)])}` as OperationId;
}

/** Returns the id of the operation that performs the next attempt of a webhook delivery. */
export function attemptOperation(endpointId: string, deliveryId: string): OperationId {
  return `wha_${endpointId}_${deliveryId}` as OperationId;
}

/** Returns the id of the operation that processes the next page of a webhook replay. */
export function replayOperation(replayId: string): OperationId {
  return `whr_${replayId}` as OperationId;
}
