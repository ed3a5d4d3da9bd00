import type { OperationId } from '../kernel/ids.ts';

/** The operation that makes the call of a dead letter again. */
export function redriveOperation(letterId: string): OperationId {
  return `rdr_${letterId}` as OperationId;
}
