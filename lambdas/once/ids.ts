import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import type { KeyScope } from '../kernel/idempotency-key.ts';
import type { OperationId } from '../kernel/ids.ts';

/**
 * Returns the id of the operation by which one consumer processes one event: the same for every delivery, by any route.
 */
export function consumerOperation(digest: Digest, handler: string, eventId: string): OperationId {
  return `${OperationPrefix.businessKey}${derivedCharacters(digest, ['consumer', handler, eventId])}` as OperationId;
}

/**
 * Returns the id of the operation of one business key at one consumer: permanently the same, for any event that
 * requests it.
 */
export function businessOperation(
  digest: Digest,
  handler: string,
  key: Pick<KeyScope, 'tenantId' | 'mode'> & { readonly businessKey: string },
): OperationId {
  return `${OperationPrefix.businessKey}${derivedCharacters(digest, ['business', handler, key.tenantId, key.mode, key.businessKey])}` as OperationId;
}
