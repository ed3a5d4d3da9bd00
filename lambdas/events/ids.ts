import type { OperationId } from '../kernel/ids.ts';

/** The operation that puts one event on the bus. */
export function relayOperation(eventId: string): OperationId {
  return `rel_${eventId}` as OperationId;
}

/** The operation that publishes a part of the Ledger's outcomes again. @param position of the part */
export function republishOperation(position: string): OperationId {
  return `rpb_${position}` as OperationId;
}
