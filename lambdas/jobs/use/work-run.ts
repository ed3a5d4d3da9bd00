import { REDELIVERY_SECONDS } from '../../kernel/contract/timing.ts';
import { codeOf } from '../../kernel/faults.ts';
import type { Clock } from '../../kernel/world.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { type JobEntry, type JobId, jobEntry, type PostgresJobId } from '../contract/jobs.ts';
import {
  type CountedMetric,
  JOB_DEFAULT_MAX_DURATION_SECONDS,
  JOB_LEASE_SECONDS,
  JOB_WAIT_SECONDS,
  JOB_WORKER_TIMEOUT_SECONDS,
  JobMetric,
} from '../contract/runs.ts';
import {
  isEnded,
  isOverdue,
  type JobRun,
  nextAttempt,
  type PageAttempt,
  withFailure,
  withoutRunningAttempt,
  withPageDone,
  withPageStarted,
  withSkippedItem,
  workerLivesMs,
} from '../domain/job-run.ts';
import { runPageOperation } from '../ids.ts';
import type { Job } from './job.ts';
import type { JobMessage } from './job-message.ts';
import type { JobLock, JobRunStore, JobTasks } from './job-runs.ts';
import { itemToSkip, workPage } from './work-page.ts';

export interface JobObserver {
  count(jobId: string, metric: CountedMetric, times: number): void;
  report(error: unknown, run: Pick<JobRun, 'runId'>, item?: string): void;
}

export interface WorkRunTools {
  readonly runs: Pick<JobRunStore, 'readRun' | 'lock' | 'save'>;
  readonly tasks: JobTasks;
  readonly jobs: Partial<Record<JobId | PostgresJobId, Job>>;
  readonly observer: JobObserver;
  readonly runner: OperationRunner;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export type Worked =
  | 'continued'
  | 'succeeded'
  | 'failed'
  /**
   * Another worker is processing the run, another run of the job is in progress, or the message named an earlier
   * version of the run. A new message was sent.
   */
  | 'waiting'
  /** Another worker has taken over, and this worker wrote nothing. */
  | 'fenced'
  /** The run has ended, does not exist, or was continued by another message. */
  | 'nothing_to_do';

interface Work {
  readonly tools: WorkRunTools;
  readonly job: Job;
  readonly entry: Pick<JobEntry, 'id' | 'overlap' | 'maxDuration'>;
}

/**
 * Processes one page of a run, and sends the message for the next page. Messages may be duplicated or late, so a
 * message only names the run and its version; the run's row contains its state.
 *
 *   lock ── read ── begin (attempt counted) ── items … ── save (cursor, counts) ── next message
 *
 * Every write requires that the lock's token and the run's version have not changed. A worker that was paused beyond
 * its lease, or overtaken by a second worker of its run, writes nothing. Processing an item again has no second effect,
 * because all items are idempotent:
 *
 *   A ── lock 1 ── begin v2 ── items … paused ………………………… ── save v3 ✗ (token 1)
 *   B ─────────────────────────────── lock 2 ── begin v3 ── items ── save v4 ✓
 *
 * @param receives number of deliveries of the message, at least 1
 * @throws when this worker does not run the job, or a dependency fails; the message is then redelivered
 */
export async function workRun(tools: WorkRunTools, message: JobMessage, receives: number): Promise<Worked> {
  const { jobId, runId } = message;
  const entry = jobEntry(jobId);
  const job = entry === undefined ? undefined : tools.jobs[entry.id];
  if (entry === undefined || job === undefined) throw new Error(`this worker has no job "${jobId}"`);
  const work = { tools, job, entry };
  // No release step is needed: when the message is redelivered, the same run acquires its lock again.
  return tools.runner.run<ClaimedPage, JobRun, Worked>(runPageOperation(runId), {
    claim: async () => {
      const claimed = await claimPage(work, message, receives);
      return typeof claimed === 'string' ? { kind: 'refused', outcome: claimed } : { kind: 'claimed', held: claimed };
    },
    execute: (page) => workAttempt(work, page),
    commit: (now, page) => commitPage(work, page, now),
  });
}

/** The run's row is the operation's record, and the token of the job lock fences earlier owners. */
interface ClaimedPage {
  /** `attempts` includes this attempt. */
  readonly run: JobRun;
  readonly lock: JobLock;
  readonly attempt: Exclude<PageAttempt, 'give_up'>;
}

/** @returns the claimed page, or the result of the message when there is no page to process */
async function claimPage(work: Work, message: JobMessage, receives: number): Promise<ClaimedPage | Worked> {
  const { runId } = message;
  const { tools, entry } = work;
  const { runs, clock } = tools;
  const { id: jobId } = entry;
  // Read the run before acquiring the lock, so that late messages of an ended run do not block other runs.
  const found = await runs.readRun(jobId, runId);
  if (found === undefined || isEnded(found)) return 'nothing_to_do';
  const livesMs = workerLivesMs(found, clock.nowMs());
  if (livesMs > 0) return waitForWorker(work, found, livesMs);
  if (found.version !== message.version) return catchUp(work, found, message, receives);
  const lock = await runs.lock(entry.overlap === 'allow' ? runId : jobId, runId, times(clock));
  if (lock === undefined) return waitForLock(work, found);
  // Read the run again under the lock: the lock's previous owner can no longer write.
  const run = await runs.readRun(jobId, runId);
  if (run === undefined || isEnded(run)) return releaseLock(work, run, lock);
  if (run.version !== message.version) return catchUp(work, run, message, receives);
  return beginPage(work, run, lock);
}

/**
 * Age of a run, in milliseconds, from which a message may be a redriven dead letter. A queue dead-letters a message
 * only after {@link REDELIVERY_SECONDS}; the hour allows for clock skew.
 */
const MAY_BE_REDRIVEN_MS = (REDELIVERY_SECONDS - 3_600) * 1000;

/**
 * Another worker has continued the run since this message was sent, and has sent its own message, so this message is
 * dropped. Otherwise, each duplicate would cause further messages until the run ends, and the number of messages would
 * double whenever the result of a send is unknown. Only three kinds of messages can be the run's last message, and are
 * replaced by a new one: a redelivered message, a message whose page a worker began but did not finish, and a redriven
 * dead letter, which SQS counts as a new message:
 *
 *   message v1 ── begin v2 ── items … ── save v3 ── ✗ ……… message v1 again ── message v3
 */
async function catchUp({ tools }: Work, run: JobRun, { version }: JobMessage, receives: number): Promise<Worked> {
  const isOfPage = run.begunAtMs !== undefined && version === run.version - 1;
  const mayBeRedriven = tools.clock.nowMs() - run.acceptedAtMs >= MAY_BE_REDRIVEN_MS;
  if (receives <= 1 && !isOfPage && !mayBeRedriven) return 'nothing_to_do';
  await tools.tasks.enqueue(run, 0);
  return 'waiting';
}

async function beginPage(work: Work, run: JobRun, lock: JobLock): Promise<ClaimedPage | Worked> {
  const { tools, entry } = work;
  if (isOverdue(run, maxDurationOf(entry), tools.clock.nowMs())) return fail(work, run, lock, 'overdue');
  const counted = withoutRunningAttempt(run, tools.clock.nowMs());
  const attempt = nextAttempt(counted);
  if (attempt === 'give_up') return fail(work, run, lock, 'page_kills_workers');
  const begun = withPageStarted(counted, tools.clock.nowMs());
  return (await save(tools, begun, lock)) ? { run: begun, lock, attempt } : fenced(work, run, lock);
}

async function workAttempt(work: Work, { run, attempt }: Pick<ClaimedPage, 'run' | 'attempt'>): Promise<JobRun> {
  const { observer } = work.tools;
  try {
    return attempt === 'pass_over' ? await skipItem(work, run) : await workItems(work, run, attempt);
  } catch (error) {
    // While attempts remain, throw, so that SQS redelivers the message. After the last attempt, fail the run rather
    // than skip an item: a worker that can report an error has not crashed, so no item is suspected.
    if (nextAttempt(run) === 'whole_page' || nextAttempt(run) === 'one_item') throw error;
    observer.report(error, run);
    return withFailure(run, `page_unreadable: ${codeOf(error)}`, work.tools.clock.nowMs());
  }
}

async function workItems(work: Work, run: JobRun, attempt: 'whole_page' | 'one_item'): Promise<JobRun> {
  const { job, entry, tools } = work;
  const { clock, observer } = tools;
  const report = (error: unknown, item: string): void => observer.report(error, run, item);
  const progress = await workPage({ job, clock, report }, run, attempt);
  const { failed } = progress.counts;
  if (failed > 0) observer.count(entry.id, JobMetric.itemFailed, failed);
  return withPageDone(run, progress, clock.nowMs());
}

async function skipItem({ job, entry, tools }: Work, run: JobRun): Promise<JobRun> {
  const { clock, observer } = tools;
  const item = await itemToSkip(job, run);
  // Count before the write: counting an item twice is better than not counting it.
  if (item.name !== undefined) observer.count(entry.id, JobMetric.skipped, 1);
  return item.name === undefined
    ? withPageDone(run, { counts: { done: 0, left: 0, failed: 0 }, items: 0, ...item }, clock.nowMs())
    : withSkippedItem(run, { ...item, name: item.name }, clock.nowMs());
}

/**
 * Delays a duplicate message until the page's worker has certainly stopped. Does not discard the message, because that
 * worker may have just crashed, and this may be the run's only message.
 */
async function waitForWorker({ tools }: Work, run: JobRun, livesMs: number): Promise<Worked> {
  // If a fast clock wrote `begunAtMs`, `livesMs` is too large. Limit the delay to the timeout, because no worker runs
  // longer.
  await tools.tasks.enqueue(run, Math.min(JOB_WORKER_TIMEOUT_SECONDS, Math.ceil(livesMs / 1000)));
  return 'waiting';
}

async function commitPage({ tools, job, entry }: Work, { run, lock }: ClaimedPage, now: JobRun): Promise<Worked> {
  if (now.status === 'failed') tools.observer.count(entry.id, JobMetric.failed, 1);
  if (!(await save(tools, now, lock))) return fenced({ tools, job, entry }, run, lock);
  if (now.status === 'failed') return 'failed';
  if (isEnded(now)) return 'succeeded';
  // Send the next message before the current one is acknowledged. A crash after the send then leaves two messages,
  // never none.
  await tools.tasks.enqueue(now, 0);
  return 'continued';
}

/**
 * Sends the message again with a delay until the other run has ended, for at most the run's maximum duration. Each send
 * increases the version, so that only one of the run's messages keeps waiting and the others are dropped.
 */
async function waitForLock(work: Work, run: JobRun): Promise<Worked> {
  const { tools, entry } = work;
  const { runs, tasks, clock } = tools;
  // Write under a lock with the run's own name, because another run holds the job lock. If a worker begins the run now,
  // one of the two writes fails, because both require the same version.
  const own = await runs.lock(run.runId, run.runId, times(clock));
  if (own === undefined) return 'fenced';
  if (isOverdue(run, maxDurationOf(entry), clock.nowMs())) return fail(work, run, own, 'lock_not_available');
  const waiting = { ...run, version: run.version + 1 };
  if (!(await save(tools, waiting, own))) return 'fenced';
  await tasks.enqueue(waiting, JOB_WAIT_SECONDS);
  return 'waiting';
}

async function fail(work: Work, run: JobRun, lock: JobLock, reason: string): Promise<Worked> {
  const { tools, entry } = work;
  // Count before the write: a repeated alarm is better than a lost one.
  tools.observer.count(entry.id, JobMetric.failed, 1);
  const failed = withFailure(run, reason, tools.clock.nowMs());
  return (await save(tools, failed, lock)) ? 'failed' : fenced(work, run, lock);
}

/**
 * If a worker of the same run increased the version, that worker continues the run. If another run holds the lock, the
 * version is unchanged and the message is sent again with a delay.
 *
 * @param run the run as this worker last read or wrote it
 */
async function fenced(work: Work, run: JobRun, lock: JobLock): Promise<Worked> {
  const { runs, tasks, observer } = work.tools;
  observer.count(work.entry.id, JobMetric.fenced, 1);
  const now = await runs.readRun(run.jobId, run.runId);
  if (now === undefined || isEnded(now)) await releaseLock(work, now, lock);
  else if (now.version <= run.version) await tasks.enqueue(run, JOB_WAIT_SECONDS);
  return 'fenced';
}

/** Writing the ended run again releases the lock. If the run does not exist, does nothing. */
async function releaseLock({ tools }: Work, run: JobRun | undefined, lock: JobLock): Promise<Worked> {
  if (run !== undefined) await save(tools, { ...run, version: run.version + 1 }, lock);
  return 'nothing_to_do';
}

async function save({ runs, clock }: WorkRunTools, run: JobRun, lock: JobLock): Promise<boolean> {
  return runs.save(run, lock, times(clock).leaseExpiresAtMs);
}

function times(clock: WorkRunTools['clock']): { readonly nowMs: number; readonly leaseExpiresAtMs: number } {
  const nowMs = clock.nowMs();
  return { nowMs, leaseExpiresAtMs: nowMs + JOB_LEASE_SECONDS * 1000 };
}

function maxDurationOf({ maxDuration = JOB_DEFAULT_MAX_DURATION_SECONDS }: Pick<JobEntry, 'maxDuration'>): number {
  return maxDuration;
}
