import type { OperationId } from '../kernel/ids.ts';

/** Returns the id of the operation that publishes one event. */
export function relayOperation(eventId: string): OperationId {
  return `rel_${eventId}` as OperationId;
}

/**
 * Returns the id of the operation that republishes a part of the Ledger's outcomes.
 *
 * @param position the position of the part
 */
export function republishOperation(position: string): OperationId {
  return `rpb_${position}` as OperationId;
}
