import type { OperationId } from '../kernel/ids.ts';

export function relayOperation(eventId: string): OperationId {
  return `rel_${eventId}` as OperationId;
}

export function republishOperation(position: string): OperationId {
  return `rpb_${position}` as OperationId;
}
