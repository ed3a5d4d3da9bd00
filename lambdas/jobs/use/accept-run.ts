import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { Answer } from '../../kernel/answer.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type EffectRecord, RUN_RETENTION_DAYS, runExpirySeconds } from '../../once/domain/idempotency.ts';
import { commitOnce, type Effect, type Written } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { acceptedRun, isEnded, type JobRun, type RunId, runIdOf } from '../domain/job-run.ts';
import { acceptedAnswer } from '../domain/job-run-object.ts';
import type { JobRunStore, JobTasks } from './job-runs.ts';

export interface AcceptRunTools {
  readonly runs: JobRunStore;
  readonly tasks: JobTasks;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

export interface AcceptRun {
  /** Derived from the run-id for the executor, or from the idempotency key and its scope for an operator. */
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  readonly jobId: string;
  /** The scheduled time, in Unix milliseconds. @default the current time; a retry uses the time of the first request */
  readonly scheduledForMs?: number;
  /** The operator's request, recorded in the activity log. @default none: the schedule requested the run */
  readonly requestedBy?: OperatorCause;
}

export type AcceptRunOutcome =
  | { readonly kind: 'first'; readonly runId: RunId; readonly answer: Answer }
  /** The stored response. */
  | { readonly kind: 'replay'; readonly runId: RunId; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  /**
   * The scheduled time is older than the retention of runs, so Payonce cannot know whether the job already ran at that
   * time.
   */
  | { readonly kind: 'too_old' }
  | { readonly kind: 'in_the_future' };

/**
 * Maximum time by which a scheduled time may be in the future, in milliseconds. The Scheduler's clock and this clock
 * may each be wrong by five minutes, and a refused run would never be executed.
 */
const AHEAD_MS = 600_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Accepts one run per scheduled time, regardless of the number of requests, callers and idempotency keys. Each request
 * also enqueues the run for its worker, unless the run has ended.
 *
 *   A (clock)    ── record A + run T ✓ ── enqueue ✓
 *   B (operator) ────── record B ✓, run T exists and is unchanged ── enqueue ✓ (the worker finds the run in progress)
 *   A again      ────────── record A: replay ── enqueue, unless T has ended
 *
 * @throws RetryableError when the caller must retry; the retry enqueues an accepted run
 * @throws AmbiguousError when it is unknown whether the run was stored; retry with the same idempotency key
 */
export async function acceptRun(tools: AcceptRunTools, request: AcceptRun): Promise<AcceptRunOutcome> {
  const outcome = await commitOnce(tools.runner, new Acceptance(tools, request));
  if (outcome.kind !== 'first' && outcome.kind !== 'replay') return outcome;
  // If an earlier request crashed before this line, the accepted run has no message. A retry then enqueues the run
  // here.
  const run = await tools.runs.readRun(request.jobId, outcome.runId);
  if (run !== undefined && !isEnded(run)) await tools.tasks.enqueue(run, 0);
  return outcome;
}

type Prepared = { readonly kind: 'accept'; readonly run: JobRun; readonly answer: Answer } | Refused;
type Refused = Extract<AcceptRunOutcome, { kind: 'too_old' | 'in_the_future' }>;

/** No claim is needed, because one write stores both the record and the run. */
class Acceptance implements Effect<Prepared, AcceptRunOutcome> {
  readonly operationId: OperationId;
  readonly #tools: AcceptRunTools;
  readonly #request: AcceptRun;

  constructor(tools: AcceptRunTools, request: AcceptRun) {
    this.#tools = tools;
    this.#request = request;
    this.operationId = request.operationId;
  }

  async find(): Promise<AcceptRunOutcome | undefined> {
    const record = await this.#tools.runs.readAccepted(this.#request.operationId);
    return record === undefined ? undefined : this.#judge(record);
  }

  async prepare(): Promise<Prepared> {
    const { jobId, scheduledForMs } = this.#request;
    const nowMs = this.#tools.clock.nowMs();
    const forMs = scheduledForMs ?? nowMs;
    if (forMs > nowMs + AHEAD_MS) return { kind: 'in_the_future' };
    if (forMs < nowMs - RUN_RETENTION_DAYS * DAY_MS) return { kind: 'too_old' };
    const run = acceptedRun(jobId, forMs, nowMs);
    const there = await this.#tools.runs.readRun(jobId, run.runId);
    return { kind: 'accept', run, answer: acceptedAnswer(there ?? run) };
  }

  /**
   * If two deliveries of one request overlap, the second one finds the record of the first one and returns the stored
   * response.
   */
  async write(prepared: Prepared): Promise<Written<Prepared, AcceptRunOutcome>> {
    if (prepared.kind !== 'accept') return { kind: 'done', outcome: prepared };
    const { runs, clock, entropy } = this.#tools;
    const { operationId, fingerprint } = this.#request;
    const { run, answer } = prepared;
    const nowMs = clock.nowMs();
    const outcome = await runs.accept(
      {
        operationId,
        owner: entropy.ownerToken(),
        recordedAtMs: nowMs,
        request: { fingerprint, answer },
        expiresAtSeconds: runExpirySeconds(this.#tools, nowMs),
      },
      run,
      this.#activity(run, nowMs),
    );
    if (outcome.kind === 'changed') return { kind: 'again', prepared };
    const first = { kind: 'first' as const, runId: run.runId, answer };
    return { kind: 'done', outcome: outcome.kind === 'recorded' ? first : this.#judge(outcome.record) };
  }

  #activity({ runId }: JobRun, occurredAtMs: number): ActivityDraft | undefined {
    const { requestedBy } = this.#request;
    if (requestedBy === undefined) return undefined;
    return { chain: 'deployment', action: 'job.run_requested', actor: requestedBy, about: [runId], occurredAtMs };
  }

  #judge(record: EffectRecord): AcceptRunOutcome {
    const judged = judgeEffect(record, this.#request.fingerprint);
    return judged.kind === 'replay' ? { ...judged, runId: this.#runIdIn(judged.answer) } : judged;
  }

  /** If the request has no scheduled time, the result is the run-id of the first request. */
  #runIdIn({ body }: Answer): RunId {
    const { jobId, scheduledForMs } = this.#request;
    if (scheduledForMs !== undefined) return runIdOf(jobId, scheduledForMs);
    const { id } = JSON.parse(body) as { readonly id: RunId };
    return id;
  }
}
