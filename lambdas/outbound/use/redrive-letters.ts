import { AmbiguousError, RetryableError, TerminalError } from '../../kernel/faults.ts';
import { redriveOperation } from '../../kernel/ids.ts';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import type { LetterReport } from '../contract.ts';
import type { DeadLetter, LetterBox, TakenLetter } from './dead-letters.ts';

/** What came of making the call of a letter again, under the same key. */
export type CallMadeAgain =
  | { readonly kind: 'applied' }
  /** The vendor understood and refused: it would refuse it again. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nothing was tried, or a person has to find out. */
  | { readonly kind: 'stays'; readonly reason: string };

export interface RedriveTools {
  readonly letters: LetterBox;
  /** @throws faults only, see `core/faults.ts` */
  readonly makeAgain: (letter: DeadLetter, limit: CallLimit) => Promise<CallMadeAgain>;
  readonly runner: OperationRunner;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Told of what is no fault: a bug of ours, or a letter that no code was ready for. */
  readonly report: (error: unknown) => void;
}

export interface LetterRun {
  /** Unix milliseconds. Nothing is begun that could end later. */
  readonly deadlineMs: number;
  readonly atMost: number;
}

/** For one letter: the ladder's first rungs fit in, and a vendor that is still away does not take the whole run. Milliseconds. */
const CALL_MS = 15_000;

/** What is in the box; all of it is put back. */
export async function listLetters(
  tools: Pick<RedriveTools, 'letters' | 'clock'>,
  run: LetterRun,
): Promise<readonly LetterReport[]> {
  const reports: LetterReport[] = [];
  await eachLetter(tools, run, 0, async (taken) => {
    reports.push(reportOf(taken, 'kept', taken.letter?.reason ?? UNREADABLE));
    return 'stays';
  });
  return reports;
}

/**
 * Makes the calls of dead letters again, each under the key that it had: what has taken effect meanwhile is found, not
 * done twice. A letter is removed only after its call has come to an end, so a run that dies halfway loses nothing: what
 * it had taken comes back, and is found to be done.
 */
export async function redriveLetters(tools: RedriveTools, run: LetterRun): Promise<readonly LetterReport[]> {
  const reports: LetterReport[] = [];
  await eachLetter(tools, run, CALL_MS, async (taken) => {
    const report = await redriveLetter(tools, taken);
    reports.push(report);
    return report.state === 'stays' ? 'stays' : 'goes';
  });
  return reports;
}

const UNREADABLE = 'letter_unreadable';

/** The letter is the record: taking it out of its box is the claim, and removing it for ever is the commit. */
function redriveLetter(tools: RedriveTools, taken: TakenLetter): Promise<LetterReport> {
  const { letter } = taken;
  return tools.runner.run<CallMadeAgain, LetterReport>(redriveOperation(taken.id), {
    claim: async () =>
      letter === undefined ? { kind: 'refused', outcome: reportOf(taken, 'stays', UNREADABLE) } : { kind: 'claimed' },
    execute: async () => (letter === undefined ? { kind: 'stays', reason: UNREADABLE } : callAgain(tools, letter)),
    commit: async (came) => {
      if (came.kind !== 'stays') await tools.letters.remove(taken);
      return reportOf(taken, came.kind, came.kind === 'applied' ? (letter?.reason ?? '') : came.reason);
    },
    // It is put back with those that stay.
    release: async () => undefined,
  });
}

async function callAgain({ makeAgain, report }: RedriveTools, letter: DeadLetter): Promise<CallMadeAgain> {
  try {
    return await makeAgain(letter, { timeoutMs: CALL_MS });
  } catch (error) {
    const fault = error instanceof RetryableError || error instanceof AmbiguousError || error instanceof TerminalError;
    if (fault) return { kind: 'stays', reason: error.code };
    // One letter that no code was ready for does not keep the others in the box.
    report(error);
    return { kind: 'stays', reason: 'internal_error' };
  }
}

/** Each at most once. Those that stay are put back at the end: put back at once, they would be taken again and again. */
async function eachLetter(
  { letters, clock }: Pick<RedriveTools, 'letters' | 'clock'>,
  { deadlineMs, atMost }: LetterRun,
  neededMs: number,
  handle: (taken: TakenLetter) => Promise<'goes' | 'stays'>,
): Promise<void> {
  const seen = new Set<string>();
  const staying: TakenLetter[] = [];
  const hasTime = () => clock.nowMs() + neededMs <= deadlineMs;
  try {
    while (seen.size < atMost && hasTime()) {
      const taken = await letters.take(atMost - seen.size);
      const fresh = taken.filter(({ id }) => !seen.has(id));
      staying.push(...taken.filter(({ id }) => seen.has(id)));
      if (fresh.length === 0) break;
      for (const one of fresh) {
        seen.add(one.id);
        if (!hasTime() || (await handle(one)) === 'stays') staying.push(one);
      }
    }
  } finally {
    // It would come back by itself, only later.
    await Promise.allSettled(staying.map((taken) => letters.putBack(taken)));
  }
}

function reportOf(
  { id, letter, keptSinceMs }: TakenLetter,
  state: LetterReport['state'],
  reason: string,
): LetterReport {
  const { vendor = 'unknown', operation = 'unknown', mayBeApplied = true } = letter ?? {};
  return { id, vendor, operation, keptSinceMs, mayBeApplied, state, reason };
}
