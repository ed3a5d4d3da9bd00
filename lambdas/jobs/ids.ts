import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedLetters } from '../kernel/digest.ts';
import { type OperatorKeyScope, operatorParts } from '../kernel/idempotency-key.ts';
import type { OperationId } from '../kernel/ids.ts';

/** The operation by which the clock's run is accepted, whichever firing of its schedule asks for it. */
export function clockedRunOperation(digest: Digest, runId: string): OperationId {
  return `${OperationPrefix.acceptedRun}${derivedLetters(digest, ['clocked_run', runId])}` as OperationId;
}

/** The operation by which a run is accepted that an operator asks for by this request. */
export function deriveRunOperation(digest: Digest, scope: OperatorKeyScope): OperationId {
  return `${OperationPrefix.acceptedRun}${derivedLetters(digest, ['run_by_hand', ...operatorParts(scope)])}` as OperationId;
}

/** The operation by which the executor asks for a run. */
export function runCallOperation(digest: Digest, runId: string): OperationId {
  return `${OperationPrefix.askedRun}${derivedLetters(digest, ['run_call', runId])}` as OperationId;
}

/** The operation that works on the next page of a run. */
export function runPageOperation(runId: string): OperationId {
  return `rpg_${runId}` as OperationId;
}
