/** Oracle: every queue entry is listed by the time of its next check, and checked when it is due. */
import { parseRun } from '../../../../lambdas/jobs/store/job-items.ts';
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute, RegistryTable } from '../../../../lambdas/kernel/contract/tables.ts';
import type { Item } from '../../dynamodb-values.ts';
import type { RowChange } from '../../memory-dynamodb.ts';
import type { Observed, Violation } from '../contract.ts';
import { nameOfRow } from '../stream.ts';

const ORACLE = 'every queue entry is looked at in time';

const { partitionKey: QUEUE, sortKey: DUE } = RegistryTable.queuesIndex;

/** Job that processes a row, by the row's partition-key prefix. */
const JOB_OF: Readonly<Record<string, string>> = {
  [RegistryRow.inquiry]: 'resolve',
  [RegistryRow.return]: 'resolve',
  [RegistryRow.openOrder]: 'resolve',
  [RegistryRow.orphan]: 'retry-orphans',
};

/**
 * Base number of runs that may skip a due entry. One more is allowed per `ENTRIES_OF_A_RUN` entries in the job's queue,
 * because checks can be slow and a run may not reach every entry.
 */
const RUNS_LEFT_OUT = 3;
const ENTRIES_OF_A_RUN = 10;

interface Entry {
  readonly job: string;
  readonly dueAtMs: number;
  /** Simulated time of the last write, in Unix milliseconds. */
  readonly writtenAtMs: number;
  /** Number of runs that began after the due time and completed without writing the entry. */
  missed: number;
  /**
   * Maximum length of the job's queue in the runs that `missed` counts. Earlier entries may have left the queue since.
   */
  longest: number;
}

/** Measures the wait of each entry in runs instead of time, because the simulated schedule leaves out runs. */
export class Overdue {
  readonly #world: Observed;
  readonly #entries = new Map<string, Entry>();
  /** Simulated time when each run was accepted, in Unix milliseconds, by run id. */
  readonly #accepted = new Map<string, number>();
  readonly #found: Violation[] = [];

  constructor(world: Observed) {
    this.#world = world;
    const { database, tables } = world;
    for (const item of database.items(tables.registry)) this.#take({ table: tables.registry, after: item });
    database.listen((changes) => changes.forEach((change) => this.#take(change)));
  }

  /** Returns the violations since the last call. */
  take(): readonly Violation[] {
    return this.#found.splice(0);
  }

  #take({ table, before, after }: RowChange): void {
    const row = after ?? before;
    if (table !== this.#world.tables.registry || row === undefined) return;
    const kind = /^[A-Z_]+#/.exec(row[KeyAttribute.partition] as string)?.[0] ?? '';
    const job = JOB_OF[kind];
    if (job !== undefined) this.#takeEntry(job, row, after === undefined);
    if (kind === RegistryRow.jobRuns && after !== undefined) this.#takeRun(after);
  }

  #takeEntry(job: string, row: Item, isGone: boolean): void {
    const name = nameOfRow(row);
    if (isGone) this.#entries.delete(name);
    else if (typeof row[QUEUE] !== 'string' || typeof row[DUE] !== 'number')
      this.#found.push({ oracle: ORACLE, what: 'is in no queue', about: name });
    else this.#entries.set(name, { job, dueAtMs: row[DUE], writtenAtMs: this.#world.nowMs, missed: 0, longest: 0 });
  }

  #takeRun(row: Item): void {
    const { jobId, runId, status, scheduledForMs, failed, skipped } = parseRun(row);
    const acceptedAtMs = this.#accepted.get(runId) ?? this.#world.nowMs;
    this.#accepted.set(runId, acceptedAtMs);
    // Runs with failures do not count: an entry whose check failed may keep its due time.
    if (status !== 'succeeded' || failed > 0 || skipped.length > 0) return;
    this.#accepted.delete(runId);
    const waiting = [...this.#entries].filter(([, { job }]) => job === jobId);
    for (const [name, entry] of waiting) {
      if (entry.dueAtMs > scheduledForMs || entry.writtenAtMs >= acceptedAtMs) continue;
      entry.missed += 1;
      entry.longest = Math.max(entry.longest, waiting.length);
      if (entry.missed <= RUNS_LEFT_OUT + entry.longest / ENTRIES_OF_A_RUN) continue;
      const what = `was due at ${entry.dueAtMs}, but the ${entry.missed} runs since then did not process it`;
      this.#found.push({ oracle: ORACLE, what, about: name });
    }
  }
}
