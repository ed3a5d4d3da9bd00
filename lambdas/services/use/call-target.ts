import type { CalledTarget } from '../../jobs/contract/job-targets.ts';
import { acceptedRun, type JobRun } from '../../jobs/domain/job-run.ts';
import { isRequested, type RequestRunTools, requestRun } from '../../jobs/use/request-run.ts';
import { fullJitter } from '../../kernel/backoff.ts';
import { AmbiguousError, codeOf, RetryableError } from '../../kernel/faults.ts';

/** A call of a target's job: the message that the job's schedule sends, and the number of earlier calls. */
export interface TargetCall {
  readonly target: string;
  readonly job: string;
  /** ISO 8601, for example `2026-01-01T00:00:00Z`. */
  readonly scheduledTime: string;
  /** Number of earlier calls of this run. The target accepted none of them. @default 0 */
  readonly tries?: number;
  /** Earliest time of the next call, in Unix milliseconds. @default immediately */
  readonly notBeforeMs?: number;
}

export interface TargetCalls {
  /** Schedules another call after the delay, or earlier if the delay exceeds the queue's maximum. */
  again(call: TargetCall, delaySeconds: number): Promise<void>;
  /** Stores a missed call in the queue of missed runs, for an operator. The queue raises an alarm. */
  missed(call: TargetCall & { readonly reason: string }): Promise<void>;
}

export interface TargetRuns {
  /**
   * A succeeded run never changes. A failed run changes only to succeeded.
   *
   * @returns false when the run does not change
   */
  note(run: JobRun): Promise<boolean>;
}

export interface CallTargetTools extends Omit<RequestRunTools, 'routes'> {
  readonly targets: Readonly<Record<string, CalledTarget>>;
  readonly routesOf: (name: string, target: CalledTarget) => RequestRunTools['routes'];
  readonly calls: TargetCalls;
  readonly runs: TargetRuns;
}

/**
 * Wait after the first call that the target did not accept, in seconds. Each later wait is twice as long as the
 * previous one.
 */
const FIRST_WAIT_SECONDS = 5;
const LONGEST_WAIT_SECONDS = 300;
/** After that many doublings, the wait has reached its maximum. */
const MAX_DOUBLINGS = 6;

export type Called = 'asked' | 'asked_before' | 'waiting' | 'missed';

/**
 * Makes the next call of a run. Duplicate messages and lost responses are harmless: every call of a run has the run id
 * as its idempotency key, so the target accepts a run only once.
 *
 *   2xx                         accepted; recorded, so that further messages of the run make no call
 *   409, 429, 5xx, no response  called again within the window of the job, after up to 5, 10, 20, … 300 s (full
 *                               jitter), but not before the time in `Retry-After`
 *   all other results           missed
 *
 * @throws when the queue does not accept a message, or the run's row cannot be written; the message of this call is
 * then redelivered
 */
export async function callTarget(tools: CallTargetTools, call: TargetCall): Promise<Called> {
  const { targets, routesOf, calls, runs, clock, entropy } = tools;
  const target = targets[call.target];
  const job = target?.jobs[call.job];
  const miss = async (reason: string): Promise<Called> => {
    // Record the run as missed before sending it to the queue of missed runs. If the send fails, the current message is
    // redelivered, and the run is recorded as missed again.
    if (!(await runs.note(noted(call, clock.nowMs(), { called: 'missed', reason })))) return 'asked_before';
    await calls.missed({ ...call, reason });
    return 'missed';
  };
  if (target === undefined || job === undefined) return miss('job_unknown');
  const scheduledForMs = Date.parse(call.scheduledTime);
  const endsAtMs = scheduledForMs + job.windowSeconds * 1000;
  const nowMs = clock.nowMs();
  if (nowMs > endsAtMs && !(await isRequested(tools, call.job, scheduledForMs))) return miss('window_ended');
  const { tries = 0, notBeforeMs = 0 } = call;
  if (nowMs < notBeforeMs) {
    await calls.again(call, (notBeforeMs - nowMs) / 1000);
    return 'waiting';
  }
  let called: Called;
  let isAccepted = false;
  try {
    const entry = { id: call.job, path: job.path, scopes: job.scopes };
    const routes: RequestRunTools['routes'] = {
      ask: async (run, bounds) => {
        await routesOf(call.target, target).ask(run, bounds);
        isAccepted = true;
      },
    };
    called = (await requestRun({ ...tools, routes }, entry, scheduledForMs)).kind;
  } catch (error) {
    if (isAccepted) {
      // The target has accepted the run, but the record that avoids further calls could not be written.
      await runs.note(noted(call, clock.nowMs(), { called: 'asked' }));
      return 'asked';
    }
    if (!(error instanceof RetryableError || error instanceof AmbiguousError)) return miss(codeOf(error));
    const wait = Math.min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** Math.min(tries, MAX_DOUBLINGS));
    const seconds = Math.max(error.retryAfterSeconds ?? 0, fullJitter(wait, entropy));
    const nextMs = clock.nowMs() + Math.ceil(seconds * 1000);
    if (nextMs > endsAtMs) return miss(error.code);
    await runs.note(noted(call, clock.nowMs(), { called: 'waiting', reason: error.code }));
    await calls.again({ ...call, tries: tries + 1, notBeforeMs: nextMs }, seconds);
    return 'waiting';
  }
  // If the run cannot be recorded, its message is redelivered. The redelivery then finds that the run was requested,
  // and records it.
  await runs.note(noted(call, clock.nowMs(), { called }));
  return called;
}

interface CallResult {
  readonly called: Called;
  readonly reason?: string;
}

/** The run starts at its scheduled time, so its duration includes the wait until the target accepted it. */
function noted(
  { job, scheduledTime, tries = 0 }: TargetCall,
  nowMs: number,
  { called, ...reason }: CallResult,
): JobRun {
  const scheduledForMs = Date.parse(scheduledTime);
  const run = { ...acceptedRun(job, scheduledForMs, scheduledForMs), startedAtMs: scheduledForMs, ...reason };
  if (called === 'waiting') return { ...run, status: 'running', attempts: tries + 1 };
  return { ...run, status: called === 'missed' ? 'failed' : 'succeeded', attempts: tries, endedAtMs: nowMs };
}
