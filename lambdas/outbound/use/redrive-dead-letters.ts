import { AmbiguousError, RetryableError, TerminalError } from '../../kernel/faults.ts';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import type { DeadLetterReport } from '../contract.ts';
import { redriveOperation } from '../ids.ts';
import type { DeadLetter, DeadLetterStore, TakenDeadLetter } from './dead-letters.ts';

export type CallMadeAgain =
  | { readonly kind: 'applied' }
  /** The vendor would refuse the call again. */
  | { readonly kind: 'refused'; readonly reason: string }
  /**
   * The call was not made, failed, or needs an operator's decision. `isUnmade` is set if this redrive made no call; an
   * earlier attempt may nevertheless have been applied.
   */
  | { readonly kind: 'stays'; readonly reason: string; readonly mayBeApplied?: true; readonly isUnmade?: true };

export interface RedriveTools {
  readonly deadLetters: DeadLetterStore;
  /**
   * @param id the dead letter's id in the queue
   * @throws only faults (`kernel/faults.ts`)
   */
  readonly makeAgain: (deadLetter: DeadLetter, limit: CallLimit, id: string) => Promise<CallMadeAgain>;
  readonly runner: OperationRunner;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Reports a bug, for example a dead letter with an unexpected payload. */
  readonly report: (error: unknown) => void;
}

export interface DeadLetterRun {
  /** A call begins only if its time limit ends before the deadline. */
  readonly deadlineMs: number;
  readonly atMost: number;
}

/** Long enough for the first retries, but so short that one run can call several vendors that are unavailable. */
const CALL_MS = 15_000;

/** Makes all listed dead letters visible again. */
export async function listDeadLetters(
  tools: Pick<RedriveTools, 'deadLetters' | 'clock'>,
  run: DeadLetterRun,
): Promise<readonly DeadLetterReport[]> {
  const reports: DeadLetterReport[] = [];
  await eachDeadLetter(tools, run, 0, async (taken) => {
    reports.push(reportOf(taken, 'kept', taken.deadLetter?.reason ?? UNREADABLE));
    return 'stays';
  });
  return reports;
}

/**
 * A call that has already taken effect is found by its original idempotency key, and has no second effect. A dead
 * letter is removed only after its call has completed. If the run crashes, its dead letters become visible again.
 */
export async function redriveDeadLetters(
  tools: RedriveTools,
  run: DeadLetterRun,
): Promise<readonly DeadLetterReport[]> {
  const reports: DeadLetterReport[] = [];
  await eachDeadLetter(tools, run, CALL_MS, async (taken) => {
    const report = await redriveDeadLetter(tools, taken);
    reports.push(report);
    return report.state === 'stays' ? 'stays' : 'goes';
  });
  return reports;
}

/** This version cannot read the dead letter. */
export const UNREADABLE = 'dead_letter_unreadable';

/** The dead letter is the record: receiving it is the claim, and deleting it is the commit. */
function redriveDeadLetter(tools: RedriveTools, taken: TakenDeadLetter): Promise<DeadLetterReport> {
  const { deadLetter } = taken;
  // There is no release step, because `eachDeadLetter` makes the dead letter visible again.
  return tools.runner.run<DeadLetter, CallMadeAgain, DeadLetterReport>(redriveOperation(taken.id), {
    claim: async () =>
      deadLetter === undefined
        ? { kind: 'refused', outcome: reportOf(taken, 'stays', UNREADABLE) }
        : { kind: 'claimed', held: deadLetter },
    execute: (held) => callAgain(tools, held, taken.id),
    commit: async (result, { reason }) => {
      if (result.kind !== 'stays') await tools.deadLetters.remove(taken);
      return reportOf(taken, result.kind, result.kind === 'applied' ? reason : result.reason);
    },
  });
}

/**
 * @param mustWait returns true for an error that is thrown instead of being converted to an outcome
 * @default every error is converted
 */
export async function callAgain(
  { makeAgain, report }: Pick<RedriveTools, 'makeAgain' | 'report'>,
  deadLetter: DeadLetter,
  id: string,
  mustWait: (error: unknown) => boolean = () => false,
): Promise<CallMadeAgain> {
  try {
    return await makeAgain(deadLetter, { timeoutMs: CALL_MS }, id);
  } catch (error) {
    if (mustWait(error)) throw error;
    const fault = error instanceof RetryableError || error instanceof AmbiguousError || error instanceof TerminalError;
    if (fault) {
      const unknown = error instanceof AmbiguousError ? { mayBeApplied: true as const } : {};
      return { kind: 'stays', reason: error.code, ...unknown };
    }
    // An unexpected error of one dead letter must not stop the redrive of the others.
    report(error);
    return { kind: 'stays', reason: 'internal_error', mayBeApplied: true };
  }
}

/**
 * Releases the dead letters that stay in the queue only at the end, because the run would otherwise receive them again.
 */
async function eachDeadLetter(
  { deadLetters, clock }: Pick<RedriveTools, 'deadLetters' | 'clock'>,
  { deadlineMs, atMost }: DeadLetterRun,
  neededMs: number,
  handle: (taken: TakenDeadLetter) => Promise<'goes' | 'stays'>,
): Promise<void> {
  const seen = new Set<string>();
  const staying: TakenDeadLetter[] = [];
  const hasTime = () => clock.nowMs() + neededMs <= deadlineMs;
  try {
    while (seen.size < atMost && hasTime()) {
      const taken = await deadLetters.take(atMost - seen.size);
      const fresh = taken.filter(({ id }) => !seen.has(id));
      staying.push(...taken.filter(({ id }) => seen.has(id)));
      if (fresh.length === 0) break;
      for (const one of fresh) {
        seen.add(one.id);
        if (!hasTime() || (await handle(one)) === 'stays') staying.push(one);
      }
    }
  } finally {
    // A failure is harmless: the dead letter becomes visible again later.
    await Promise.allSettled(staying.map((taken) => deadLetters.release(taken)));
  }
}

function reportOf(
  { id, deadLetter, keptSinceMs }: TakenDeadLetter,
  state: DeadLetterReport['state'],
  reason: string,
): DeadLetterReport {
  const { vendor = 'unknown', operation = 'unknown', about: order = null, mayBeApplied = true } = deadLetter ?? {};
  return { id, vendor, operation, order, keptSinceMs, mayBeApplied, state, reason };
}
