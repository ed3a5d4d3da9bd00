import type { CalledTarget } from '../../jobs/contract/job-targets.ts';
import { acceptedRun, type JobRun } from '../../jobs/domain/job-run.ts';
import { type AskForRunTools, askForRun, isAskedFor } from '../../jobs/use/ask-for-run.ts';
import { fullJitter } from '../../kernel/backoff.ts';
import { AmbiguousError, codeOf, RetryableError } from '../../kernel/faults.ts';

/** A scheduled call of a target: what its schedule put into the queue, and how often it was tried. */
export interface TargetCall {
  readonly target: string;
  readonly job: string;
  /** ISO 8601, as `2026-01-01T00:00:00Z`. */
  readonly scheduledTime: string;
  /** Calls that were not accepted. @default 0 */
  readonly tries?: number;
  /** The next call is made no earlier. Unix milliseconds. @default at once */
  readonly notBeforeMs?: number;
}

export interface TargetCalls {
  /** Calls again after a time, or a little earlier when the queue cannot wait that long. */
  again(call: TargetCall, delaySeconds: number): Promise<void>;
  /** Keeps a call that was not accepted, for an operator. Raises an alarm. */
  missed(call: TargetCall & { readonly reason: string }): Promise<void>;
}

/** The runs of jobs that other services do, for the list of runs. */
export interface TargetRuns {
  /**
   * Writes what became of a run. A run that has succeeded stays so, and a run that has failed only changes when it has succeeded.
   *
   * @returns false when the run stays as it is
   */
  note(run: JobRun): Promise<boolean>;
}

export interface CallTargetTools extends Omit<AskForRunTools, 'routes'> {
  readonly targets: Readonly<Record<string, CalledTarget>>;
  readonly routesOf: (name: string, target: CalledTarget) => AskForRunTools['routes'];
  readonly calls: TargetCalls;
  readonly runs: TargetRuns;
}

/** The first wait after a call that was not accepted. Each further one is twice as long. Seconds. */
const FIRST_WAIT_SECONDS = 5;
const LONGEST_WAIT_SECONDS = 300;
/** More would not change the wait. */
const MOST_DOUBLINGS = 6;

export type Called = 'asked' | 'asked_before' | 'waiting' | 'missed';

/**
 * Makes the next call of a run. The target accepts a run once, because every call of it has the run-id as its idempotency key, so
 * a doubled message and a lost answer are harmless.
 *
 *   2xx                        accepted; recorded, so that further messages of the run make no call
 *   409, 429, 5xx, no answer   called again within the window of the job: after `Retry-After` or 5, 10, 20, … 300 s, the longer
 *   other answers              missed
 *
 * @throws when the queue does not take a message, or the row is not written; this one is then delivered again
 */
export async function callTarget(tools: CallTargetTools, call: TargetCall): Promise<Called> {
  const { targets, routesOf, calls, runs, clock, entropy } = tools;
  const target = targets[call.target];
  const job = target?.jobs[call.job];
  const miss = async (reason: string): Promise<Called> => {
    // Written first: when the message cannot be sent, this one comes again and is missed again.
    if (!(await runs.note(noted(call, clock.nowMs(), { called: 'missed', reason })))) return 'asked_before';
    await calls.missed({ ...call, reason });
    return 'missed';
  };
  if (target === undefined || job === undefined) return miss('job_unknown');
  const scheduledForMs = Date.parse(call.scheduledTime);
  const endsAtMs = scheduledForMs + job.windowSeconds * 1000;
  const nowMs = clock.nowMs();
  if (nowMs > endsAtMs && !(await isAskedFor(tools, call.job, scheduledForMs))) return miss('window_ended');
  const { tries = 0, notBeforeMs = 0 } = call;
  if (nowMs < notBeforeMs) {
    await calls.again(call, (notBeforeMs - nowMs) / 1000);
    return 'waiting';
  }
  let called: Called;
  let isAccepted = false;
  try {
    const entry = { id: call.job, path: job.path, scopes: job.scopes };
    const routes: AskForRunTools['routes'] = {
      ask: async (run, bounds) => {
        await routesOf(call.target, target).ask(run, bounds);
        isAccepted = true;
      },
    };
    called = (await askForRun({ ...tools, routes }, entry, scheduledForMs)).kind;
  } catch (error) {
    if (isAccepted) {
      // Only its record was not written, which avoids further calls. The run itself is noted as accepted.
      await runs.note(noted(call, clock.nowMs(), { called: 'asked' }));
      return 'asked';
    }
    if (!(error instanceof RetryableError || error instanceof AmbiguousError)) return miss(codeOf(error));
    const wait = Math.min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** Math.min(tries, MOST_DOUBLINGS));
    const seconds = Math.max(error.retryAfterSeconds ?? 0, fullJitter(wait, entropy));
    const nextMs = clock.nowMs() + Math.ceil(seconds * 1000);
    if (nextMs > endsAtMs) return miss(error.code);
    await runs.note(noted(call, clock.nowMs(), { called: 'waiting', reason: error.code }));
    await calls.again({ ...call, tries: tries + 1, notBeforeMs: nextMs }, seconds);
    return 'waiting';
  }
  // A message whose run could not be noted comes again: the run was asked for before, and is noted then.
  await runs.note(noted(call, clock.nowMs(), { called }));
  return called;
}

interface Came {
  readonly called: Called;
  /** Why the target did not accept the run. */
  readonly reason?: string;
}

/** The run after a call. It begins with its scheduled time, so that it took as long as its target let it wait. */
function noted({ job, scheduledTime, tries = 0 }: TargetCall, nowMs: number, { called, ...reason }: Came): JobRun {
  const scheduledForMs = Date.parse(scheduledTime);
  const run = { ...acceptedRun(job, scheduledForMs, scheduledForMs), startedAtMs: scheduledForMs, ...reason };
  if (called === 'waiting') return { ...run, status: 'running', attempts: tries + 1 };
  return { ...run, status: called === 'missed' ? 'failed' : 'succeeded', attempts: tries, endedAtMs: nowMs };
}
