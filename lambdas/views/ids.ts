import type { OperationId } from '../kernel/ids.ts';

/** Derives the id of the operation that writes one event into the Views. */
export function projectionOperation(eventId: string): OperationId {
  return `prj_${eventId}` as OperationId;
}
