import type { OperationId } from '../kernel/ids.ts';

export function redriveOperation(messageId: string): OperationId {
  return `rdr_${messageId}` as OperationId;
}
