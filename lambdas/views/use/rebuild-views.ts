import { ViewsRow } from '../../kernel/contract/rows.ts';
import { defined } from '../../kernel/defined.ts';
import { isFault } from '../../kernel/faults.ts';
import type { Clock } from '../../kernel/world.ts';
import type { ChainId } from '../../payments/ids.ts';
import { isOfComparison, timeOf, type ViewKey, type ViewOwner } from '../domain/lists.ts';
import { DAY_MS, type ViewRow } from '../domain/views.ts';
import { NO_VOLUMES, sameVolumes } from '../domain/volumes.ts';
import { isImplied, type LedgerTools, readChainViews, restoreHeads, wrongRows } from './chain-views.ts';
import { type CloseDaysTools, closeDays, closedSums, closedVolumes, sumEntries, sumVolumes } from './close-days.ts';
import type { LedgerScan } from './ledger-scan.ts';
import { reopenDay, writeViews } from './project-event.ts';
import { type ScanPositions, scanAll } from './scan-all.ts';
import type { ViewScan, ViewStore } from './view-store.ts';

export interface RebuildTools extends CloseDaysTools, LedgerTools {
  readonly views: ViewStore & ViewScan;
  readonly ledger: LedgerScan;
  readonly clock: Clock;
  /** Time for the Views to catch up before a deviation is reported as a difference, in milliseconds. @default 25 s */
  readonly settleMs?: number;
}

/** Phases of a rebuild, in order. The projector continues to write events during all phases. */
const PHASES = ['project', 'sweep', 'close', 'compare_ledger', 'compare_views', 'done'] as const;
type Phase = (typeof PHASES)[number];

/** Serializable as JSON: a rebuild can resume from it. */
export interface RebuildState {
  readonly phase: Phase;
  readonly positions: ScanPositions;
  readonly owners: readonly ViewOwner[];
  readonly counts: RebuildCounts;
  /**
   * Payments and orders whose rows differed or that cannot be read, rows that cannot be derived from any transition,
   * and wrong daily totals. They are compared again at the end.
   */
  readonly suspects: readonly Suspect[];
}

interface RebuildCounts {
  /** Number of payments and orders whose rows were written. */
  readonly projected: number;
  /** Rows that cannot be derived from the Ledger. */
  readonly removed: number;
  readonly daysClosed: number;
  readonly compared: number;
}

interface Suspect {
  readonly chainId?: ChainId;
  readonly key?: ViewKey;
  /**
   * Reason why this version of the code cannot read the transitions. The rebuild continues with other payments and
   * orders. Absent if the transitions can be read.
   */
  readonly unreadable?: string;
}

/** A deviation that remains after the Views had time to catch up. */
export interface Difference extends Suspect {
  readonly kind: 'wrong_or_missing' | 'stray' | 'total' | 'unreadable';
}

export interface Rebuilt {
  readonly counts: RebuildCounts;
  readonly differences: readonly Difference[];
}

/**
 * Default time for the Views to catch up, in milliseconds. An event usually reaches the Views within a second, but
 * later after a failure.
 */
const SETTLE_MS = 25_000;
/**
 * Maximum number of times that each of the `suspects` is compared again. The first time is immediate; the last time is
 * at the end of the settling time.
 */
const MAX_COMPARISONS = 6;
/** Maximum number of `suspects` that are stored, more than an operator would read. */
const MAX_SUSPECTS = 10_000;
const DAYS_AT_ONCE = 50;
/**
 * Maximum number of batches of days that a rebuild closes per owner (a tenant in a mode). A day that changes while it
 * is being closed is tried again; the projector or the job `close-days` later closes the days that are still open at
 * this limit.
 */
const MAX_CLOSINGS = 400;

/** @param from `project` rebuilds and compares; `compare_ledger` only compares */
export function initialRebuildState(segments: number, from: 'project' | 'compare_ledger' = 'project'): RebuildState {
  return {
    phase: from,
    positions: begin(segments),
    owners: [],
    counts: { projected: 0, removed: 0, daysClosed: 0, compared: 0 },
    suspects: [],
  };
}

function begin(segments: number): ScanPositions {
  return Array.from({ length: segments }, () => '');
}

/**
 * Rebuilds the Views from the Ledger while payments continue, and then compares both. Every step can be repeated, so an
 * interrupted rebuild can resume at the last reported state or start over.
 *
 * @param progress called after every page
 */
export async function rebuildViews(
  tools: RebuildTools,
  state: RebuildState,
  progress: (state: RebuildState) => Promise<void>,
): Promise<Rebuilt> {
  const run = new Rebuild(tools, state, progress);
  return run.run();
}

class Rebuild {
  readonly #tools: RebuildTools;
  readonly #progress: (state: RebuildState) => Promise<void>;
  readonly #segments: number;
  readonly #owners: Map<string, ViewOwner>;
  readonly #suspects: Suspect[];
  readonly #counts: { -readonly [Name in keyof RebuildCounts]: RebuildCounts[Name] };
  #phase: Phase;
  #positions: ScanPositions;

  constructor(tools: RebuildTools, state: RebuildState, progress: (state: RebuildState) => Promise<void>) {
    this.#tools = tools;
    this.#progress = progress;
    this.#segments = state.positions.length;
    this.#owners = new Map(state.owners.map((owner) => [JSON.stringify(owner), owner]));
    this.#suspects = [...state.suspects];
    this.#counts = { ...state.counts };
    this.#phase = state.phase;
    this.#positions = state.positions;
  }

  async run(): Promise<Rebuilt> {
    const { ledger, views } = this.#tools;
    await this.#scan(
      'project',
      (step) => ledger.chains(step),
      (id) => this.#skipUnreadable(id, () => this.#project(id)),
    );
    await this.#scan(
      'sweep',
      (step) => views.scan(step),
      (row) => this.#skipUnreadable(row.chainId, () => this.#sweep(row)),
    );
    if (this.#phase === 'close') await this.#closeDays();
    await this.#scan(
      'compare_ledger',
      (step) => ledger.chains(step),
      (id) => this.#skipUnreadable(id, () => this.#compareChain(id)),
    );
    await this.#scan(
      'compare_views',
      (step) => views.scan(step),
      (row) => this.#skipUnreadable(row.chainId, () => this.#compareRow(row)),
    );
    return { counts: this.#counts, differences: await this.#remaining() };
  }

  async #scan<Found>(
    phase: Phase,
    step: Parameters<typeof scanAll<Found>>[0]['step'],
    each: (found: Found) => Promise<void>,
  ): Promise<void> {
    if (this.#phase !== phase) return;
    const progress = async (positions: ScanPositions): Promise<void> => {
      this.#positions = positions;
      await this.#reportProgress();
    };
    await scanAll({ step, each, progress }, this.#positions);
    await this.#enter(PHASES[PHASES.indexOf(phase) + 1] ?? 'done');
  }

  /**
   * @throws store faults, which do not concern only this payment or order, and errors about a row of no payment or
   * order
   */
  async #skipUnreadable(chainId: ChainId | undefined, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isFault(error) || chainId === undefined || !(error instanceof Error)) throw error;
      const isKnown = this.#suspects.some((suspect) => suspect.unreadable !== undefined && suspect.chainId === chainId);
      if (!isKnown) this.#suspect({ chainId, unreadable: error.name });
    }
  }

  async #enter(phase: Phase): Promise<void> {
    this.#phase = phase;
    this.#positions = begin(this.#segments);
    await this.#reportProgress();
  }

  async #reportProgress(): Promise<void> {
    await this.#progress({
      phase: this.#phase,
      positions: this.#positions,
      owners: [...this.#owners.values()],
      counts: { ...this.#counts },
      suspects: [...this.#suspects],
    });
  }

  /**
   * Writes the same rows as the projector, except the marks of projected events, and by the same rule: the newer head
   * wins. The rebuild and the projector can therefore run concurrently.
   */
  async #project(chainId: ChainId): Promise<void> {
    const chainViews = await readChainViews(this.#tools, chainId);
    if (chainViews === undefined) return;
    this.#owners.set(JSON.stringify(chainViews.owner), chainViews.owner);
    await restoreHeads(this.#tools.views, chainViews);
    for (const event of chainViews.events) await writeViews(this.#tools, event);
    this.#counts.projected += 1;
  }

  /**
   * The Ledger is read after the row, so it already contains the transition of every valid row. The delete requires
   * that the row is unchanged.
   */
  async #sweep(row: ViewRow): Promise<void> {
    if (isOfComparison(row)) return;
    const { views } = this.#tools;
    const { chainId } = row;
    if (chainId === undefined) {
      // The row is a daily total. The `close` phase sums the day again; until then, readers sum the day's entries.
      await views.exchange([{ key: row, from: row }]);
      return;
    }
    if (await isImplied(this.#tools, chainId, row)) return;
    if (!(await views.exchange([{ key: row, from: row }]))) return;
    this.#counts.removed += 1;
    const summed = ownerOfSummed(row);
    if (summed !== undefined) await reopenDay(views, summed, timeOf(row.sort));
    await this.#project(chainId);
  }

  async #closeDays(): Promise<void> {
    for (const owner of this.#owners.values()) {
      for (let round = 0; round < MAX_CLOSINGS; round += 1) {
        const { closed, more } = await closeDays(this.#tools, owner, DAYS_AT_ONCE);
        this.#counts.daysClosed += closed;
        if (!more || closed === 0) break;
      }
      await this.#reportProgress();
    }
    await this.#enter('compare_ledger');
  }

  async #compareChain(chainId: ChainId): Promise<void> {
    this.#counts.compared += 1;
    if ((await this.#differenceOf({ chainId })) !== undefined) this.#suspect({ chainId });
  }

  async #compareRow(row: ViewRow): Promise<void> {
    if (isOfComparison(row)) return;
    const { partition, sort, chainId } = row;
    const suspect = { key: { partition, sort }, ...defined({ chainId }) };
    if ((await this.#differenceOfRow(suspect, row)) !== undefined) this.#suspect(suspect);
  }

  #suspect(suspect: Suspect): void {
    if (this.#suspects.length < MAX_SUSPECTS) this.#suspects.push(suspect);
  }

  async #differenceOf(suspect: Suspect): Promise<Difference | undefined> {
    const { views } = this.#tools;
    const { key, chainId } = suspect;
    if (suspect.unreadable !== undefined) return { ...suspect, kind: 'unreadable' };
    if (key === undefined) {
      const chainViews = chainId === undefined ? undefined : await readChainViews(this.#tools, chainId);
      const wrong = chainViews === undefined ? [] : await wrongRows(views, chainViews);
      const [first] = wrong;
      return first === undefined ? undefined : { ...suspect, key: first, kind: 'wrong_or_missing' };
    }
    const row = await views.read(key);
    return row === undefined ? undefined : this.#differenceOfRow(suspect, row);
  }

  async #differenceOfRow(suspect: Suspect, row: ViewRow): Promise<Difference | undefined> {
    const { chainId } = suspect;
    if (chainId === undefined) return (await this.#isRightTotal(row)) ? undefined : { ...suspect, kind: 'total' };
    return (await isImplied(this.#tools, chainId, row)) ? undefined : { ...suspect, kind: 'stray' };
  }

  async #isRightTotal(row: ViewRow): Promise<boolean> {
    const owner = ownerOf(row);
    const closed = closedSums(row);
    if (owner === undefined) return false;
    if (closed === undefined) return true;
    const fromMs = timeOf(row.sort);
    const day = { fromMs, untilMs: fromMs + DAY_MS };
    const sums = await sumEntries(this.#tools.views, owner, day, true);
    const volumes = await sumVolumes(this.#tools.views, owner, day, true);
    const storedVolumes = closedVolumes(row);
    if (volumes === undefined || storedVolumes === undefined) return false;
    if (!sameVolumes(storedVolumes, volumes.get(fromMs) ?? NO_VOLUMES)) return false;
    return closed.size === sums.size && [...closed].every(([key, sum]) => sameSum(sum, sums.get(key)));
  }

  /** Compares the suspects again, because their events may not have been projected yet. */
  async #remaining(): Promise<readonly Difference[]> {
    const { clock, settleMs = SETTLE_MS } = this.#tools;
    let suspects: readonly Suspect[] = this.#suspects;
    let differences: readonly Difference[] = [];
    for (let comparison = 0; comparison < MAX_COMPARISONS && suspects.length > 0; comparison += 1) {
      if (comparison > 0) await clock.sleep(settleMs / (MAX_COMPARISONS - 1));
      const found: Difference[] = [];
      const still: Suspect[] = [];
      for (const suspect of suspects) {
        const difference = await this.#differenceOf(suspect);
        if (difference === undefined) continue;
        found.push(difference);
        still.push(suspect);
      }
      suspects = still;
      differences = found;
    }
    return differences;
  }
}

function sameSum(
  left: { readonly debit: bigint; readonly credit: bigint },
  right: { readonly debit: bigint; readonly credit: bigint } | undefined,
): boolean {
  return right !== undefined && left.debit === right.debit && left.credit === right.credit;
}

/** @returns undefined for a row that no daily total includes */
function ownerOfSummed(row: ViewRow): ViewOwner | undefined {
  return [ViewsRow.book, ViewsRow.event].some((kind) => row.partition.startsWith(kind)) ? ownerOf(row) : undefined;
}

function ownerOf({ partition }: ViewKey): ViewOwner | undefined {
  const [, tenant, mode] = partition.split('#');
  if (tenant === undefined || (mode !== 'test' && mode !== 'live')) return undefined;
  return { tenantId: tenant as ViewOwner['tenantId'], mode };
}
