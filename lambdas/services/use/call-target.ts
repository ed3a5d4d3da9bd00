import { type AskForRunTools, askForRun } from '../../jobs/use/ask-for-run.ts';
import type { CalledTarget } from '../../kernel/contract/job-targets.ts';
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

export interface CallTargetTools extends Omit<AskForRunTools, 'routes'> {
  readonly targets: Readonly<Record<string, CalledTarget>>;
  readonly routesOf: (name: string, target: CalledTarget) => AskForRunTools['routes'];
  readonly calls: TargetCalls;
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
 *   409, 429, 5xx, no answer   called again within the window of the job: after `Retry-After`, or 5, 10, 20, … 300 s
 *   other answers              missed
 *
 * @throws when the queue does not take a message; this one is then delivered again
 */
export async function callTarget(tools: CallTargetTools, call: TargetCall): Promise<Called> {
  const { targets, routesOf, calls, clock, entropy } = tools;
  const target = targets[call.target];
  const job = target?.jobs[call.job];
  const miss = async (reason: string): Promise<Called> => {
    await calls.missed({ ...call, reason });
    return 'missed';
  };
  if (target === undefined || job === undefined) return miss('job_unknown');
  const scheduledForMs = Date.parse(call.scheduledTime);
  const endsAtMs = scheduledForMs + job.windowSeconds * 1000;
  const nowMs = clock.nowMs();
  if (nowMs > endsAtMs) return miss('window_ended');
  const { tries = 0, notBeforeMs = 0 } = call;
  if (nowMs < notBeforeMs) {
    await calls.again(call, (notBeforeMs - nowMs) / 1000);
    return 'waiting';
  }
  try {
    const entry = { id: call.job, path: job.path, scopes: job.scopes };
    return (await askForRun({ ...tools, routes: routesOf(call.target, target) }, entry, scheduledForMs)).kind;
  } catch (error) {
    if (!(error instanceof RetryableError || error instanceof AmbiguousError)) return miss(codeOf(error));
    const wait = Math.min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** Math.min(tries, MOST_DOUBLINGS));
    const seconds = error.retryAfterSeconds ?? wait * (0.5 + entropy.fraction() / 2);
    const nextMs = clock.nowMs() + Math.ceil(seconds * 1000);
    if (nextMs > endsAtMs) return miss(error.code);
    await calls.again({ ...call, tries: tries + 1, notBeforeMs: nextMs }, seconds);
    return 'waiting';
  }
}
