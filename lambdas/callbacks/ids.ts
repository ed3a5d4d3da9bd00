import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import type { OperationId } from '../kernel/ids.ts';

/** All deliveries of the event, to any address, have the same operation id. */
export function callbackOperation(digest: Digest, source: string, eventId: string): OperationId {
  return `${OperationPrefix.callback}${derivedCharacters(digest, ['callback', source, eventId])}` as OperationId;
}

/** An adoption retries the callback and matches it to a payment. */
export function adoptionOperation(digest: Digest, orphan: OperationId): OperationId {
  return `${OperationPrefix.adoption}${derivedCharacters(digest, ['adoption', orphan])}` as OperationId;
}
