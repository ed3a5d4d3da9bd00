import type { OperationId } from '../kernel/ids.ts';

/** The operation that writes one event into the Views. */
export function projectionOperation(eventId: string): OperationId {
  return `prj_${eventId}` as OperationId;
}
