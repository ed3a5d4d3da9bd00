import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import { type OperatorKeyScope, operatorParts } from '../kernel/idempotency-key.ts';
import type { OperationId } from '../kernel/ids.ts';

/** All invocations of the schedule for this run derive the same id. */
export function clockedRunOperation(digest: Digest, runId: string): OperationId {
  return `${OperationPrefix.acceptedRun}${derivedCharacters(digest, ['clocked_run', runId])}` as OperationId;
}

export function deriveRunOperation(digest: Digest, scope: OperatorKeyScope): OperationId {
  return `${OperationPrefix.acceptedRun}${derivedCharacters(digest, ['run_by_hand', ...operatorParts(scope)])}` as OperationId;
}

export function runCallOperation(digest: Digest, runId: string): OperationId {
  return `${OperationPrefix.askedRun}${derivedCharacters(digest, ['run_call', runId])}` as OperationId;
}

export function runPageOperation(runId: string): OperationId {
  return `rpg_${runId}` as OperationId;
}
