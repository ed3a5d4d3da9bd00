import type { OperationId } from '../kernel/ids.ts';

/** Returns the id of the operation that redrives a dead letter. */
export function redriveOperation(messageId: string): OperationId {
  return `rdr_${messageId}` as OperationId;
}
