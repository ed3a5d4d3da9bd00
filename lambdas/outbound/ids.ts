import type { OperationId } from '../kernel/ids.ts';

/** Returns the id of the operation that repeats the call of a dead letter. */
export function redriveOperation(messageId: string): OperationId {
  return `rdr_${messageId}` as OperationId;
}
