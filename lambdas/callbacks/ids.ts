import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import type { OperationId } from '../kernel/ids.ts';

/**
 * Derives the id of the operation that records a processor's event. All deliveries of the event, to any address, have
 * the same operation id.
 */
export function callbackOperation(digest: Digest, source: string, eventId: string): OperationId {
  return `${OperationPrefix.callback}${derivedCharacters(digest, ['callback', source, eventId])}` as OperationId;
}

/**
 * Derives the id of the operation that adopts an orphan. An adoption retries the callback and matches it to a payment.
 */
export function adoptionOperation(digest: Digest, orphan: OperationId): OperationId {
  return `${OperationPrefix.adoption}${derivedCharacters(digest, ['adoption', orphan])}` as OperationId;
}
