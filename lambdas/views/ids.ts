import type { OperationId } from '../kernel/ids.ts';

export function projectionOperation(eventId: string): OperationId {
  return `prj_${eventId}` as OperationId;
}
