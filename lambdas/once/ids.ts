import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import type { KeyScope } from '../kernel/idempotency-key.ts';
import type { OperationId } from '../kernel/ids.ts';

/** The id is the same for every delivery of the event, no matter how it is delivered. */
export function consumerOperation(digest: Digest, handler: string, eventId: string): OperationId {
  return `${OperationPrefix.businessKey}${derivedCharacters(digest, ['consumer', handler, eventId])}` as OperationId;
}

/** All events with one business key of a tenant and mode have the same id, which never changes. */
export function businessOperation(
  digest: Digest,
  handler: string,
  key: Pick<KeyScope, 'tenantId' | 'mode'> & { readonly businessKey: string },
): OperationId {
  return `${OperationPrefix.businessKey}${derivedCharacters(digest, ['business', handler, key.tenantId, key.mode, key.businessKey])}` as OperationId;
}
