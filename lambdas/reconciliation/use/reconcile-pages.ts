import type { JobPage } from '../../jobs/use/job.ts';
import { AmbiguousError } from '../../kernel/faults.ts';
import type { Clock } from '../../kernel/world.ts';
import type { BooksIdentity, ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { TransitionPlace } from '../../payments/domain/transition.ts';
import { LIST_TIMEOUT_MS, type ProcessorBooks, type UnreadableCharge } from '../../payments/use/processor.ts';
import { type OutcomePosition, positionAt, type RecentOutcomes, timeOf } from '../../payments/use/transition-reader.ts';
import type { ViewStore } from '../../views/use/view-store.ts';
import type { OpenMismatch } from '../domain/mismatch-view.ts';
import { someMismatches } from './mismatch-view.ts';

export interface PageTools {
  readonly books: readonly ProcessorBooks[];
  readonly outcomes: RecentOutcomes;
  readonly views: ViewStore;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export interface ReconcileWindow {
  /** Exclusive; always a whole minute. */
  readonly untilMs: number;
  /** Time before which the Ledger is complete, in Unix milliseconds. */
  readonly completeMs: number;
  begin(): Promise<{
    readonly from: OutcomePosition;
    /**
     * The progress mark: the position up to which earlier runs have compared everything.
     * @default undefined: there is no such position yet
     */
    readonly mark?: OutcomePosition | undefined;
  }>;
}

export interface ListedCharge {
  readonly books: ProcessorBooks;
  readonly charge: ProcessorCharge;
}

/** One part of a run: the processors' charges and the Ledger's outcomes in a time range. */
export interface TimePart {
  readonly from: OutcomePosition;
  readonly to: OutcomePosition;
  /** End of the run's window, in Unix milliseconds. */
  readonly untilMs: number;
  /** Time before which the Ledger was complete when the outcomes were read, in Unix milliseconds. */
  readonly completeMs: number;
  /**
   * The expected position of the progress mark: the mark is there if every earlier part was compared. Undefined if
   * there is no mark yet. Only a mark at the expected position is moved.
   */
  readonly mark: string | undefined;
  /** Every charge that was created in the range, and some charges from just before and after it. */
  readonly charges: readonly ListedCharge[];
  readonly unreadable: readonly UnreadableCharge[];
  /** The processors whose lists could not be read, each with the error. Their charges are missing. */
  readonly unlisted: ReadonlyMap<ProcessorBooks, unknown>;
  readonly outcomes: readonly TransitionPlace[];
}

export type ComparisonItem =
  | { readonly kind: 'part'; readonly part: TimePart }
  /** A mismatch that was open when the page was read. */
  | { readonly kind: 'open'; readonly open: OpenMismatch }
  | { readonly kind: 'count' };

/** The phases of a run follow in this order. */
type Place =
  /**
   * Position in the order of outcomes. `listSeconds` is the length, in seconds, of the time range that each of the next
   * lists of charges covers.
   */
  | { readonly phase: 'parts'; readonly from: OutcomePosition; readonly listSeconds: number }
  /** Position in the view, after the row `behind`. */
  | { readonly phase: 'open'; readonly behind?: string }
  | { readonly phase: 'count' };

export const MINUTE_MS = 60_000;
/**
 * Time after which no further page of a list is read, in milliseconds. Pages with charges of the first second of a list
 * are read nevertheless. The last page can take up to {@link LIST_TIMEOUT_MS}, which usually leaves a third of the
 * job's minute for the comparison.
 */
const LISTS_MS = 20_000;
/** Number of lists that are read concurrently from each processor. The lists cover consecutive time ranges. */
const CONCURRENT_LISTS = 4;
/** Maximum number of pages of one list, unless its first second has more. The next part reads the remaining pages. */
const MAX_LIST_PAGES = 4;
/** Maximum number of pages of a list if all of its charges were created in the same second. */
const MAX_PAGES_OF_A_SECOND = 50;
/** With this number, a list usually fits into one page of the processor (a hundred charges). */
const TARGET_CHARGES_PER_LIST = 80;
/** An outcome whose charge is in none of the lists costs a read at the processor. */
const MAX_OUTCOMES = 500;
/**
 * Usual time between the creation of a charge and its outcome, in seconds. The first list of charges begins this much
 * earlier, so that it also contains the charges of the first outcomes.
 */
const CHARGED_BEFORE_SECONDS = 5;

/** @param cursor undefined at the beginning */
export async function readPage(
  tools: PageTools,
  window: ReconcileWindow,
  cursor: string | undefined,
  limit: number,
): Promise<JobPage<ComparisonItem>> {
  const at = cursor === undefined ? undefined : (JSON.parse(cursor) as Place);
  switch (at?.phase) {
    case undefined: {
      const { from, mark } = await window.begin();
      return partPage(tools, window, { from, listSeconds: Infinity }, mark);
    }
    case 'parts':
      return partPage(tools, window, at, at.from);
    case 'open': {
      const found = await someMismatches(tools, at.behind, limit);
      const items = found.map(({ place, open }) => ({
        thing: { kind: 'open' as const, open },
        name: open.id,
        after: textOf({ phase: 'open', behind: place }),
      }));
      const last = items.at(-1);
      return { items, next: last === undefined || found.length < limit ? textOf({ phase: 'count' }) : last.after };
    }
    case 'count':
      return { items: [{ thing: { kind: 'count' }, name: 'count', after: textOf(at) }] };
  }
}

/**
 * Reads one part. Reads the lists of charges first, because a list of charges, unlike the outcomes, cannot be cut off
 * cheaply after a given number. The part ends where the first incomplete list ends, or with its last outcome. While a
 * processor is unavailable, the books of the other processors are compared nevertheless.
 *
 *   from |-- list 1 --|-- list 2 --|-- list 3 --      |-- list 4 --|
 *                                             ^ to: list 3 was too long. The next part begins here, with shorter lists
 *
 * @throws when no processor's lists can be read
 */
async function partPage(
  { books, outcomes: index, clock }: PageTools,
  { untilMs, completeMs }: ReconcileWindow,
  { from, listSeconds }: Omit<Extract<Place, { phase: 'parts' }>, 'phase'>,
  mark: string | undefined,
): Promise<JobPage<ComparisonItem>> {
  const end: Place = { phase: 'open' };
  const fromMs = timeOf(from);
  if (fromMs >= untilMs) return { items: [], next: textOf(end) };
  const fromSeconds = Math.floor(fromMs / 1000);
  const times = listTimes(fromSeconds, untilMs / 1000, listSeconds);
  const stopAtMs = clock.nowMs() + LISTS_MS;
  const hasTimeLeft = () => clock.nowMs() < stopAtMs;
  const unlisted = new Map<ProcessorBooks, unknown>();
  const readLists = async (each: ProcessorBooks): Promise<readonly ReadList[]> => {
    try {
      return await Promise.all(times.map((time) => chargesWithin(each, time, hasTimeLeft)));
    } catch (error) {
      unlisted.set(each, error);
      return [];
    }
  };
  const lists = (await Promise.all(books.map(readLists))).flat();
  const [failure] = unlisted;
  if (failure !== undefined && unlisted.size === books.length) throw failure[1];
  const listedToSeconds = Math.min(
    times.at(-1)?.untilSeconds ?? fromSeconds,
    ...lists.flatMap(({ endsAtSeconds }) => endsAtSeconds ?? []),
  );
  const found = await index.outcomesAfter(from, listedToSeconds * 1000, MAX_OUTCOMES);
  const to = found.isLast ? positionAt(listedToSeconds * 1000) : (found.outcomes.at(-1)?.position ?? from);
  const charges = lists.flatMap((list) => list.charges);
  const unreadable = lists.flatMap((list) => list.unreadable);
  const listed = charges.length + unreadable.length;
  const outcomes = found.outcomes.flatMap(({ place }) => ('paymentId' in place ? [place] : []));
  const took = listedToSeconds - fromSeconds;
  const fitting = listed === 0 ? Infinity : Math.floor((took * TARGET_CHARGES_PER_LIST) / listed);
  const next: Place =
    timeOf(to) >= untilMs
      ? end
      : { phase: 'parts', from: to, listSeconds: Math.max(1, Math.min(fitting, CONCURRENT_LISTS * took)) };
  const part = { from, to, untilMs, completeMs, mark, charges, unreadable, unlisted, outcomes };
  const thing = { kind: 'part' as const, part };
  return { items: [{ thing, name: new Date(fromMs).toISOString(), after: textOf(next) }], next: textOf(next) };
}

/** The end is exclusive. */
interface ListTime {
  readonly fromSeconds: number;
  readonly untilSeconds: number;
  /** Time, in Unix seconds, before which the list contains all charges, even if the list was not read to its end. */
  readonly atLeastToSeconds: number;
}

function listTimes(fromSeconds: number, untilSeconds: number, listSeconds: number): readonly ListTime[] {
  return Array.from({ length: CONCURRENT_LISTS }, (_, list) => {
    const beginsAt = list === 0 ? fromSeconds : fromSeconds + list * listSeconds;
    return {
      fromSeconds: list === 0 ? Math.max(0, beginsAt - CHARGED_BEFORE_SECONDS) : beginsAt,
      untilSeconds: Math.min(untilSeconds, fromSeconds + (list + 1) * listSeconds),
      atLeastToSeconds: beginsAt + 1,
    };
  }).filter((time) => time.atLeastToSeconds <= time.untilSeconds);
}

interface ReadList extends Pick<TimePart, 'charges' | 'unreadable'> {
  /** If set, the list is complete only before this time, in Unix seconds. */
  readonly endsAtSeconds?: number;
}

/** Reads the charges of a time range, or only of its beginning if the list is too long. */
async function chargesWithin(
  books: ProcessorBooks,
  { atLeastToSeconds, ...time }: ListTime,
  hasTimeLeft: () => boolean,
): Promise<ReadList> {
  const charges: ListedCharge[] = [];
  const unreadable: UnreadableCharge[] = [];
  let cursor: string | undefined;
  for (let page = 1; page <= MAX_PAGES_OF_A_SECOND; page += 1) {
    const asked = cursor === undefined ? time : { ...time, cursor };
    const list = await books.listCharges(asked, { timeoutMs: LIST_TIMEOUT_MS });
    charges.push(...list.charges.map((charge) => ({ books, charge })));
    unreadable.push(...(list.unreadable ?? []));
    if (list.next === undefined) return { charges, unreadable };
    if (list.next === cursor) throw unexpected('a page of the processor’s list names itself as the next page');
    cursor = list.next;
    // A page may end in the middle of a second.
    const endsAtSeconds = Math.max(
      charges.at(-1)?.charge.createdAtSeconds ?? 0,
      unreadable.at(-1)?.createdAtSeconds ?? 0,
    );
    if (endsAtSeconds >= atLeastToSeconds && (page >= MAX_LIST_PAGES || !hasTimeLeft()))
      return { charges, unreadable, endsAtSeconds };
  }
  throw unexpected('more charges were created in one second than a list can read');
}

function unexpected(message: string): AmbiguousError {
  return new AmbiguousError('processor_answer_unexpected', message);
}

function textOf(at: Place): string {
  return JSON.stringify(at);
}

export function booksKey({ name, mode, account }: BooksIdentity): string {
  return JSON.stringify([name, mode, account]);
}
