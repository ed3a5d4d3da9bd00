import type { Clock } from '../../kernel/world.ts';
import { isCircuitOpen } from '../../outbound/circuit-breaker.ts';
import type { ChangePaymentTools } from '../../payments/use/change-payment.ts';
import { type EnterLane, inParallelByName } from './lanes.ts';

/**
 * Time budget of each part of a run, in milliseconds. The five parts (claims, unknown outcomes, routine inquiries,
 * returns, orders) fit into the minute before the next run.
 */
const RUN_FOR_MS = 11_000;
/** Maximum number of items that each part of a run reads. */
export const MAX_AT_ONCE = 1_000;

export interface EntriesTools extends Pick<ChangePaymentTools, 'alarm'> {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Called with the error of one item. The other items are still processed. */
  readonly report: (error: unknown) => void;
  /**
   * Time after which no item starts, in Unix milliseconds; a later run continues.
   * @default only the time budget of each part applies
   */
  readonly deadlineMs?: number;
}

/** Each item is attempted at most once, and a failed item does not block the others. */
export interface Resolved {
  /** Number of completed items, for example claims that now have a stored response. */
  readonly finished: number;
  /** Number of items that cannot be decided yet, already waited for an operator, or were not reached in time. */
  readonly waiting: number;
  /** Number of items that wait for an operator from this run on, because no run can determine their outcome. */
  readonly undecidable: number;
  /** Number of items that failed with an error. A later run retries them. */
  readonly failed: number;
}

export type ItemResult = 'finished' | 'waiting' | 'undecidable';

interface Entries<Entry> {
  /** Entries with the same payment or order are processed one after the other. */
  readonly about: (entry: Entry) => string;
  /**
   * @param enter must be called before the entry waits for an external system
   * @throws NotReached if the run ended before a lane of the system was free
   */
  readonly handle: (entry: Entry, enter: EnterLane) => Promise<ItemResult>;
  readonly close: (entry: Entry) => Promise<void>;
  /**
   * Sets the time of the next attempt, and whether the entry waits for an operator.
   * @param isRefused whether the circuit breaker of the processor refused the attempt @default false
   */
  readonly keep: (entry: Entry, undecidable: boolean, isRefused?: boolean) => Promise<void>;
}

interface Marked {
  readonly undecidable?: boolean;
}

/** Thrown if the run ended while an entry waited for a lane. The entry stays due, and the next run continues it. */
export class NotReached extends Error {}

/** The remaining entries stay due and are first in the next run. */
export async function each<Entry extends object>(
  tools: EntriesTools,
  entries: readonly (Entry & Marked)[],
  work: Entries<Entry>,
): Promise<Resolved> {
  const { clock, deadlineMs = Number.POSITIVE_INFINITY } = tools;
  const counts = { finished: 0, waiting: 0, undecidable: 0, failed: 0 };
  const untilMs = Math.min(clock.nowMs() + RUN_FOR_MS, deadlineMs);
  await inParallelByName(entries, work.about, async (entry, enterLane) => {
    const enter: EnterLane = async (system) => {
      const hasWaited = await enterLane(system);
      if (hasWaited && clock.nowMs() >= untilMs) throw new NotReached();
      return hasWaited;
    };
    if (clock.nowMs() >= untilMs) counts.waiting += 1;
    else counts[await processEntry(tools, entry, work, enter)] += 1;
  });
  return counts;
}

/** The entry is rescheduled if it fails. An entry that was not reached stays due. */
async function processEntry<Entry extends object>(
  tools: Pick<EntriesTools, 'report' | 'alarm'>,
  entry: Entry & Marked,
  { about, handle, close, keep }: Entries<Entry>,
  enter: EnterLane,
): Promise<keyof Resolved> {
  try {
    const result = await handle(entry, enter);
    if (result === 'finished') await close(entry);
    return await marked(tools, { about: about(entry), ...entry }, result, (undecidable) => keep(entry, undecidable));
  } catch (error) {
    if (error instanceof NotReached) return 'waiting';
    tools.report(error);
    await keep(entry, entry.undecidable === true, isCircuitOpen(error, 'processor')).catch(tools.report);
    return 'failed';
  }
}

/**
 * Leaves an unfinished entry in its queue, and marks it if it waits for an operator. The alarm is raised once, before
 * the mark is set; the mark prevents further alarms.
 * @returns the result, but `waiting` for an undecidable entry that was already marked
 */
export async function marked(
  { alarm }: Pick<EntriesTools, 'alarm'>,
  { about, undecidable: isMarked = false }: Marked & { readonly about: string },
  result: ItemResult,
  keep: (undecidable: boolean) => Promise<void>,
): Promise<ItemResult> {
  if (result === 'finished') return result;
  const isUndecidable = result === 'undecidable';
  if (isUndecidable && !isMarked) alarm?.('undecidable', about);
  await keep(isUndecidable);
  return isUndecidable && isMarked ? 'waiting' : result;
}
