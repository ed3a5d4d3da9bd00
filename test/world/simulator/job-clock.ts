import {
  JOBS,
  type JobEntry,
  jobEntry,
  type JobId as OwnJobId,
  type PostgresJobId,
} from '../../../lambdas/jobs/contract/jobs.ts';
import { JOB_DEFAULT_MAX_DURATION_SECONDS } from '../../../lambdas/jobs/contract/runs.ts';
import { isEnded } from '../../../lambdas/jobs/domain/job-run.ts';
import { parseRun } from '../../../lambdas/jobs/store/job-items.ts';
import { RegistryRow, ViewsRow } from '../../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute, LedgerTable, RegistryTable } from '../../../lambdas/kernel/contract/tables.ts';
import type { Item } from '../dynamodb-values.ts';
import type { MemoryDynamoDb, RowChange } from '../memory-dynamodb.ts';
import { TABLES } from '../tables.ts';

import { HOLD_DUE_MS } from './processors.ts';
import type { Simulation } from './simulation.ts';
import { nameOfRow } from './stream.ts';

/**
 * Rule for the runs of a job. Only useful runs are simulated: soon after a change, then at growing intervals. Other
 * scheduled runs can be left out, because jobs promise that a missed run needs no replacement.
 */
interface Trigger {
  /** Initial interval between runs while nothing changes, in milliseconds. The interval grows up to `toMs`. */
  readonly fromMs: number;
  readonly toMs: number;
  /**
   * Returns the time from which a run may be useful after the change; undefined when the change does not concern the
   * job. A job without a queue is concerned by changes of the rows that it reads, for example to compare them.
   */
  readonly dueMs: (change: RowChange, nowMs: number) => number | undefined;
  /**
   * Whether the job has a queue of rows, so that runs continue until no row is left. Otherwise runs stop after the
   * longest interval.
   */
  readonly isQueue: boolean;
  /** @default true until the row is deleted */
  readonly isLeft?: (row: Item, table: string) => boolean;
  /**
   * Share of the histories in which the job runs by schedule. Below 1 for jobs that read all rows of a time span, in
   * many pages.
   *
   * @default every history
   */
  readonly share?: number;
}

type JobId = OwnJobId | PostgresJobId;

const MINUTE_MS = 60_000;
const LEDGER_READ_SHARE = 0.1;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const textOf = ({ before, after }: RowChange, name: string): string => (after ?? before)?.[name] as string;
const partitionOf = (change: RowChange): string => textOf(change, KeyAttribute.partition);
const inQueue =
  (...prefixes: readonly string[]) =>
  (change: RowChange, nowMs: number): number | undefined => {
    if (change.table !== TABLES.registry) return undefined;
    const partition = partitionOf(change);
    return prefixes.some((prefix) => partition.startsWith(prefix)) ? nowMs : undefined;
  };

/** For a queue that is ordered by time (lambdas/kernel/due-sort.ts). */
const byTime =
  (prefix: string, afterMs = 0) =>
  (change: RowChange, nowMs: number) =>
    inQueue(prefix)(change, nowMs) === undefined
      ? undefined
      : Number(textOf(change, KeyAttribute.sort).slice(0, 13)) + afterMs;

const isPostponedHold = (change: RowChange): boolean =>
  change.table === TABLES.registry &&
  partitionOf(change).startsWith(RegistryRow.hold) &&
  (change.after ?? change.before)?.['dueAtMs'] !== undefined;

const ofHold = (change: RowChange, nowMs: number): number | undefined => {
  const dueMs = byTime(RegistryRow.hold, HOLD_DUE_MS)(change, nowMs);
  return isPostponedHold(change) ? Number((change.after ?? change.before)?.['dueAtMs']) : dueMs;
};

const CLAIM_DUE = IdempotencyTable.openClaimsIndex.sortKey;
const isOpenClaim = (item: RowChange['after']): boolean =>
  item?.[IdempotencyTable.openClaimsIndex.partitionKey] !== undefined;
const dueAtOf = (item: RowChange['after']): unknown => item?.[RegistryTable.dueIndex.sortKey];
/** A later run must confirm the suspected mismatch. */
const isSuspected = ({ table, after }: RowChange): boolean =>
  table === TABLES.views &&
  after?.[KeyAttribute.partition] === ViewsRow.allMismatches &&
  JSON.stringify(after).includes('suspected');
const isOutcome = ({ table, after }: RowChange): boolean =>
  table === TABLES.ledger && after?.[LedgerTable.recentOutcomesIndex.partitionKey] !== undefined;
const afterOutcome =
  (afterMs: number) =>
  (change: RowChange, nowMs: number): number | undefined =>
    isOutcome(change) ? nowMs + afterMs : undefined;

const { partitionKey: QUEUE, sortKey: LOOK } = RegistryTable.queuesIndex;

const listed =
  (...prefixes: readonly string[]) =>
  (change: RowChange, nowMs: number): number | undefined => {
    const { before, after } = change;
    return inQueue(...prefixes)(change, nowMs) && Number(after?.[LOOK] ?? before?.[LOOK]);
  };
const ofClaim = ({ before, after }: RowChange): number | undefined =>
  isOpenClaim(before) || isOpenClaim(after) ? Number(after?.[CLAIM_DUE] ?? before?.[CLAIM_DUE]) : undefined;
const unfinished = listed(RegistryRow.return, RegistryRow.inquiry, RegistryRow.openOrder);

/**
 * Returns true if a check postponed a hold, or changed only the time of the next check. The interval between runs then
 * grows.
 */
function isPostponed(change: RowChange): boolean {
  const { before, after } = change;
  if (isPostponedHold(change)) return true;
  if (before === undefined || after === undefined) return false;
  const rest = ({ [QUEUE]: _queue, [LOOK]: _look, [CLAIM_DUE]: _due, ...row }: Item): string => JSON.stringify(row);
  return after[LOOK] !== before[LOOK] && rest(before) === rest(after);
}

const TRIGGERS: Readonly<Record<JobId, Trigger>> = {
  resolve: {
    fromMs: MINUTE_MS,
    toMs: 12 * HOUR_MS,
    isQueue: true,
    dueMs: (change, nowMs) => ofClaim(change) ?? unfinished(change, nowMs),
    isLeft: (row, table) => table !== TABLES.idempotency || isOpenClaim(row),
  },
  'retry-orphans': { fromMs: MINUTE_MS, toMs: 12 * HOUR_MS, isQueue: true, dueMs: listed(RegistryRow.orphan) },
  'expire-authorizations': { fromMs: HOUR_MS, toMs: DAY_MS, isQueue: true, dueMs: ofHold },
  'release-commissions': { fromMs: HOUR_MS, toMs: DAY_MS, isQueue: true, dueMs: byTime(RegistryRow.commissionDue) },
  'sweep-webhooks': {
    fromMs: MINUTE_MS,
    toMs: DAY_MS,
    isQueue: true,
    dueMs: ({ table, before, after }) => {
      const dueAtMs = dueAtOf(after) ?? dueAtOf(before);
      return table === TABLES.registry && typeof dueAtMs === 'number' ? dueAtMs : undefined;
    },
    isLeft: (row) => dueAtOf(row) !== undefined,
  },
  'republish-events': {
    share: LEDGER_READ_SHARE,
    fromMs: 5 * MINUTE_MS,
    toMs: 6 * HOUR_MS,
    isQueue: false,
    dueMs: afterOutcome(5 * MINUTE_MS),
  },
  'reconcile-recent': {
    share: LEDGER_READ_SHARE,
    fromMs: HOUR_MS,
    toMs: 8 * HOUR_MS,
    isQueue: false,
    dueMs: afterOutcome(HOUR_MS),
  },
  'reconcile-days': {
    share: LEDGER_READ_SHARE,
    fromMs: DAY_MS,
    toMs: 16 * DAY_MS,
    isQueue: false,
    dueMs: afterOutcome(DAY_MS),
  },
  // The simulator calls `runNow` for each row that is written into the outbox.
  carry: { fromMs: MINUTE_MS, toMs: 16 * DAY_MS, isQueue: false, dueMs: () => undefined },
  'close-days': { fromMs: DAY_MS, toMs: 8 * DAY_MS, isQueue: false, dueMs: afterOutcome(DAY_MS) },
  'purge-expired': { fromMs: 4 * DAY_MS, toMs: 16 * DAY_MS, isQueue: false, dueMs: afterOutcome(4 * DAY_MS) },
};

interface Wait {
  /** Rows that concern the job, each with the time from which a run may be useful, in Unix milliseconds. */
  readonly rows: Map<string, number>;
  /** In Unix milliseconds; undefined when no run is planned. */
  atMs?: number;
  gapMs: number;
  isRunning: boolean;
  /** In Unix milliseconds; 0 when no run is in progress. */
  underWayToMs: number;
  /** Whether a scheduled time was skipped because a run was in progress. */
  isLeftOut: boolean;
}

const newWait = (job: JobId): Wait => ({
  rows: new Map(),
  gapMs: TRIGGERS[job].fromMs,
  isRunning: false,
  underWayToMs: 0,
  isLeftOut: false,
});

/** Share of the histories in which a job starts while its previous run is in progress, so that the new run waits. */
const OVERLAP_SHARE = 0.2;

export class JobClock {
  readonly #simulation: Simulation;
  readonly #fire: (job: JobId, scheduledForMs: number) => Promise<void>;
  readonly #waits = new Map<JobId, Wait>();

  constructor(
    simulation: Simulation,
    database: MemoryDynamoDb,
    fire: (job: JobId, scheduledForMs: number) => Promise<void>,
  ) {
    this.#simulation = simulation;
    this.#fire = fire;
    for (const { id } of JOBS) {
      const { share = 1 } = TRIGGERS[id];
      if (simulation.decide(`clock of ${id}`) >= share) continue;
      this.#waits.set(id, newWait(id));
    }
    database.listen((changes) => {
      for (const change of changes) this.#note(change);
    });
  }

  /**
   * Restarts the schedules of `republish-events` and of the jobs with a queue after a period of faults, in which runs
   * may have failed.
   */
  resumeAll(): void {
    for (const [job, wait] of this.#waits) {
      if (!TRIGGERS[job].isQueue && job !== 'republish-events') continue;
      wait.gapMs = TRIGGERS[job].fromMs;
      this.#scheduleAt(job, wait, this.#simulation.nowMs);
    }
  }

  /** For example when the bus is reachable again and a job must publish lost events. */
  runNow(job: JobId): void {
    const wait = this.#waits.get(job) ?? newWait(job);
    this.#waits.set(job, wait);
    wait.gapMs = TRIGGERS[job].fromMs;
    this.#scheduleAt(job, wait, this.#simulation.nowMs);
  }

  #note(change: RowChange): void {
    if (change.after !== undefined && partitionOf(change).startsWith(RegistryRow.jobRuns)) this.#noteRun(change.after);
    if (isSuspected(change)) this.runNow('reconcile-days');
    for (const [job, wait] of this.#waits) {
      const trigger = TRIGGERS[job];
      const dueMs = trigger.dueMs(change, this.#simulation.nowMs);
      if (dueMs === undefined) continue;
      const name = nameOfRow(change.after ?? change.before ?? {});
      const { after, table } = change;
      const isLeft = after !== undefined && (trigger.isLeft?.(after, table) ?? true);
      if (trigger.isQueue && !isLeft) wait.rows.delete(name);
      else if (trigger.isQueue) wait.rows.set(name, dueMs);
      if (isPostponed(change)) continue;
      wait.gapMs = trigger.fromMs;
      this.#scheduleAt(job, wait, dueMs);
    }
  }

  #noteRun(row: Item): void {
    const run = parseRun(row);
    const entry: JobEntry | undefined = jobEntry(run.jobId);
    const wait = this.#waits.get(run.jobId as JobId);
    if (entry === undefined || wait === undefined) return;
    const { maxDuration = JOB_DEFAULT_MAX_DURATION_SECONDS } = entry;
    wait.underWayToMs = isEnded(run) ? 0 : run.acceptedAtMs + maxDuration * 1_000;
    // After a failed run, schedule the next run of `carry` an hour later. In a deployment, `carry` runs every minute,
    // so uncopied rows do not wait for days.
    if (entry.id === 'carry' && run.status === 'failed') {
      wait.gapMs = Math.min(wait.gapMs, HOUR_MS);
      this.#scheduleAt('carry', wait, this.#simulation.nowMs + HOUR_MS);
    }
    if (wait.underWayToMs > 0 || !wait.isLeftOut) return;
    wait.isLeftOut = false;
    this.#scheduleAt(entry.id as JobId, wait, this.#simulation.nowMs);
  }

  /** Schedules a run at the job's next scheduled time after `dueMs`, unless an earlier run is already planned. */
  #scheduleAt(job: JobId, wait: Wait, dueMs: number): void {
    const { fromMs } = TRIGGERS[job];
    const { nowMs } = this.#simulation;
    const atMs = (Math.floor(Math.max(dueMs, nowMs) / fromMs) + 1) * fromMs;
    if (wait.atMs !== undefined && wait.atMs <= atMs) return;
    wait.atMs = atMs;
    const order = Math.floor(this.#simulation.decide(`job ${job} ${atMs}`) * 2 ** 32);
    this.#simulation.plan(atMs, order, () => {
      if (wait.atMs !== atMs) return false;
      delete wait.atMs;
      return this.#run(job, wait, atMs);
    });
  }

  #run(job: JobId, wait: Wait, atMs: number): boolean {
    const trigger = TRIGGERS[job];
    if (wait.isRunning || (trigger.isQueue && wait.rows.size === 0)) return false;
    if (wait.underWayToMs > this.#simulation.nowMs && this.#simulation.decide(`overlap of ${job}`) >= OVERLAP_SHARE) {
      wait.isLeftOut = true;
      this.#scheduleAt(job, wait, wait.underWayToMs);
      return false;
    }
    wait.isRunning = true;
    void this.#work(job, wait, atMs);
    return true;
  }

  async #work(job: JobId, wait: Wait, atMs: number): Promise<void> {
    const { isQueue, fromMs, toMs } = TRIGGERS[job];
    await this.#fire(job, atMs);
    wait.isRunning = false;
    const { nowMs } = this.#simulation;
    if (isQueue) {
      if (wait.rows.size === 0) return;
      const fromNowMs = nowMs + wait.gapMs - fromMs;
      const nextMs = [...wait.rows.values()].map((dueMs) => Math.max(dueMs, fromNowMs));
      this.#scheduleAt(job, wait, Math.min(...nextMs));
      wait.gapMs = Math.min(toMs, 2 * wait.gapMs);
      return;
    }
    wait.gapMs *= 2;
    if (wait.gapMs <= toMs) this.#scheduleAt(job, wait, nowMs + wait.gapMs);
  }
}
