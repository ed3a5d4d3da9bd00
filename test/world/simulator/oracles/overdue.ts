/** Oracle: every queue entry is due in time, and is handled when it is due. */
import type { JobRun } from '../../../../lambdas/jobs/domain/job-run.ts';
import { parseRun } from '../../../../lambdas/jobs/store/job-items.ts';
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../../../lambdas/kernel/contract/tables.ts';
import type { Item } from '../../dynamodb-values.ts';
import type { RowChange } from '../../memory-dynamodb.ts';
import type { Observed, Violation } from '../contract.ts';
import { nameOfRow } from '../stream.ts';
import { type Place, placeOf, placeOfClaim } from './queue-rules.ts';

const ORACLE = 'every queue entry is looked at in time';

/**
 * Base number of runs that may skip a due entry, because a run may have read the queue before the entry was written.
 * One more is allowed per `ENTRIES_OF_A_RUN` entries in the queue, because checks can be slow and a run may not
 * reach every entry.
 */
const RUNS_LEFT_OUT = 1;
/** Base number of such runs if a run reports failures: during a store outage, a run can fail to postpone the entry. */
const FAILED_RUNS = 3;
const ENTRIES_OF_A_RUN = 400;
/** Number of faults in a run above which the run may fail to postpone any entry, despite the retries of its calls. */
const MANY_FAULTS = 25;

interface Entry extends Place {
  /** In Unix milliseconds of simulated time. */
  readonly writtenAtMs: number;
  /** Number of runs that began after the due time and completed without handling the entry. */
  missed: number;
  /** Maximum length of the queue during the runs that `missed` counts. The queue may be shorter now. */
  longest: number;
}

/** Measures the wait of each due entry in runs instead of time, because the simulated schedule leaves out runs. */
export class Overdue {
  readonly #world: Observed;
  readonly #entries = new Map<string, Entry>();
  /** In Unix milliseconds of simulated time, by run id. */
  readonly #accepted = new Map<string, number>();
  readonly #found: Violation[] = [];

  constructor(world: Observed) {
    this.#world = world;
    const { database, tables } = world;
    for (const table of [tables.registry, tables.idempotency])
      for (const item of database.items(table)) this.#take({ table, after: item });
    database.listen((changes) => changes.forEach((change) => this.#take(change)));
  }

  /** Returns the violations since the last call. */
  take(): readonly Violation[] {
    return this.#found.splice(0);
  }

  #take({ table, before, after }: RowChange): void {
    const { tables, nowMs } = this.#world;
    const row = after ?? before;
    if (row === undefined) return;
    if (table === tables.idempotency) this.#takeEntry(row, after && placeOfClaim(after, nowMs));
    if (table !== tables.registry) return;
    this.#takeEntry(row, after && placeOf(after, nowMs));
    const isRun = (row[KeyAttribute.partition] as string).startsWith(RegistryRow.jobRuns);
    if (isRun && after !== undefined) this.#takeRun(parseRun(after));
  }

  #takeEntry(row: Item, place: Place | 'nowhere' | undefined): void {
    const about = nameOfRow(row);
    if (place === 'nowhere') this.#found.push({ oracle: ORACLE, what: 'is in no queue', about });
    if (place === undefined || place === 'nowhere') this.#entries.delete(about);
    else {
      const { nowMs } = this.#world;
      this.#entries.set(about, { ...place, writtenAtMs: nowMs, missed: 0, longest: 0 });
      if (place.dueAtMs <= place.latestMs) return;
      const minutes = Math.round((place.dueAtMs - nowMs) / 60_000);
      const most = Math.round((place.latestMs - nowMs) / 60_000);
      this.#found.push({
        oracle: ORACLE,
        what: `is due in ${minutes} minutes, but at most ${most} are allowed`,
        about,
      });
    }
  }

  #takeRun(run: JobRun): void {
    const { jobId, runId, status, scheduledForMs } = run;
    const { nowMs } = this.#world;
    const acceptedAtMs = this.#accepted.get(runId) ?? nowMs;
    this.#accepted.set(runId, acceptedAtMs);
    if (status !== 'succeeded') return;
    this.#accepted.delete(runId);
    const waiting = [...this.#entries].filter(([, { job }]) => job === jobId);
    const left = waiting.filter(
      ([name, { handledFromMs, writtenAtMs, sweep }]) =>
        handledFromMs <= scheduledForMs && writtenAtMs < acceptedAtMs && !isNamed(run, name, sweep),
    );
    if (left.length === 0) return;
    const counted = run.left + run.failed;
    const faults = this.#world.faults.filter(({ of, atMs }) => of.endsWith('-jobs') && atMs >= acceptedAtMs);
    if (faults.length > MANY_FAULTS) return;
    const queues = Map.groupBy(waiting, ([, { queue }]) => queue);
    for (const [name, entry] of left) {
      // A run that does not postpone entries counts the entries that it leaves. If it counted all of them, it skipped
      // none.
      if (!entry.isPostponed && left.length <= counted) continue;
      const length = queues.get(entry.queue)?.length ?? 0;
      // A worker that crashes or waits for lost responses handles few entries of a long queue.
      if (faults.length > 0 && length > ENTRIES_OF_A_RUN) continue;
      entry.missed += 1;
      entry.longest = Math.max(entry.longest, length);
      const allowed = left.length <= counted ? FAILED_RUNS : RUNS_LEFT_OUT;
      if (entry.missed <= allowed + entry.longest / ENTRIES_OF_A_RUN) continue;
      const what = `was due at ${entry.dueAtMs}, but the ${entry.missed} runs since then did not handle it`;
      this.#found.push({ oracle: ORACLE, what, about: name });
    }
  }
}

function isNamed({ failedItems = [], skipped }: JobRun, name: string, sweep?: string): boolean {
  return [...failedItems, ...skipped].some((item) => (sweep === undefined ? name.includes(item) : item === sweep));
}
