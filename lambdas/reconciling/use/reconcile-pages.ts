import type { JobItem, JobPage } from '../../jobs/use/job.ts';
import { AmbiguousError } from '../../kernel/faults.ts';
import type { BooksName, ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { TransitionPlace } from '../../payments/domain/transition.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import { type OutcomePosition, positionAt, type RecentOutcomes } from '../../payments/use/transition-reader.ts';
import type { ViewStore } from '../../views/use/view-store.ts';
import type { OpenMismatch } from '../domain/mismatch-view.ts';
import { someMismatches } from './mismatch-view.ts';

export interface PageTools {
  /** The books of every configured processor. */
  readonly books: readonly ProcessorBooks[];
  readonly outcomes: RecentOutcomes;
  readonly views: ViewStore;
}

/** Whole minutes. Unix milliseconds; the end is exclusive. */
export interface ReconcileWindow {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** One item of a comparison. */
export type ToCompare =
  | { readonly kind: 'charge'; readonly books: ProcessorBooks; readonly charge: ProcessorCharge }
  | { readonly kind: 'outcome'; readonly place: TransitionPlace }
  /** A mismatch that was open when the page was read. */
  | { readonly kind: 'open'; readonly open: OpenMismatch }
  /** The last item: count the open mismatches. */
  | { readonly kind: 'count' };

/** The position of a comparison. The phases follow in this order. */
type Place =
  /** In a processor's list: a page and the last compared charge of it. */
  | { readonly phase: 'charges'; readonly books: string; readonly page?: string; readonly behind?: string }
  /** In the Ledger's index of outcomes: after one of them. */
  | { readonly phase: 'outcomes'; readonly behind: OutcomePosition }
  /** In the view: after one of its rows. */
  | { readonly phase: 'open'; readonly behind?: string }
  | { readonly phase: 'count' };

export const MINUTE_MS = 60_000;
/** A page has a hundred charges, whose refunds and disputes may need separate reads. A page of work has a minute. Milliseconds. */
const LIST_TIMEOUT_MS = 20_000;

/** Reads the next items: first of the processors' books, then of the Ledger, then of the view. @param cursor undefined at the beginning */
export async function readPage(
  tools: PageTools,
  window: ReconcileWindow,
  cursor: string | undefined,
  limit: number,
): Promise<JobPage<ToCompare>> {
  const books = tools.books.toSorted((left, right) => (wordOf(left) < wordOf(right) ? -1 : 1));
  const at = cursor === undefined ? firstOf(books, window) : (JSON.parse(cursor) as Place);
  switch (at.phase) {
    case 'charges':
      return chargesPage(books, window, at, limit);
    case 'outcomes':
      return outcomesPage(tools.outcomes, window, at, limit);
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

function firstOf(books: readonly ProcessorBooks[], { fromMs }: ReconcileWindow): Place {
  const [first] = books;
  return first === undefined ? outcomesFrom(fromMs) : { phase: 'charges', books: wordOf(first) };
}

async function chargesPage(
  all: readonly ProcessorBooks[],
  window: ReconcileWindow,
  at: Extract<Place, { phase: 'charges' }>,
  limit: number,
): Promise<JobPage<ToCompare>> {
  // A deployment may have removed the processor of the cursor: continue with the next one.
  const books = all.find((each) => wordOf(each) >= at.books);
  if (books === undefined) return { items: [], next: textOf(outcomesFrom(window.fromMs)) };
  const isSame = wordOf(books) === at.books;
  const asked = {
    fromSeconds: window.fromMs / 1000,
    untilSeconds: window.untilMs / 1000,
    ...(isSame && at.page !== undefined ? { cursor: at.page } : {}),
  };
  const { charges, next } = await books.listCharges(asked, { timeoutMs: LIST_TIMEOUT_MS });
  if (next !== undefined && next === asked.cursor) {
    throw new AmbiguousError(
      'processor_answer_unexpected',
      'the cursor of a page of the processor’s list leads to the same page',
    );
  }
  const here = {
    phase: 'charges' as const,
    books: wordOf(books),
    ...(isSame && at.page !== undefined ? { page: at.page } : {}),
  };
  const following = all[all.indexOf(books) + 1];
  const end: Place =
    next !== undefined
      ? { phase: 'charges', books: here.books, page: next }
      : following !== undefined
        ? { phase: 'charges', books: wordOf(following) }
        : outcomesFrom(window.fromMs);
  // If the cursor's charge is no longer on the page, the whole page is repeated, which has no further effect.
  const left = charges.slice(charges.findIndex(({ chargeId }) => chargeId === at.behind) + 1);
  return pageOf(
    left.slice(0, limit).map((charge) => ({
      thing: { kind: 'charge', books, charge },
      name: charge.chargeId,
      after: textOf({ ...here, behind: charge.chargeId }),
    })),
    left.length <= limit,
    textOf(end),
  );
}

async function outcomesPage(
  all: RecentOutcomes,
  { untilMs }: ReconcileWindow,
  { behind }: Extract<Place, { phase: 'outcomes' }>,
  limit: number,
): Promise<JobPage<ToCompare>> {
  const { outcomes, isLast } = await all.outcomesAfter(behind, untilMs, limit);
  const items = outcomes.flatMap(({ place, position }) => {
    if (!('paymentId' in place)) return [];
    const name = `${place.paymentId}#${String(place.sequence).padStart(6, '0')}`;
    return [
      { thing: { kind: 'outcome' as const, place }, name, after: textOf({ phase: 'outcomes', behind: position }) },
    ];
  });
  const end = outcomes.at(-1)?.position ?? behind;
  return { items, next: textOf(isLast ? { phase: 'open' } : { phase: 'outcomes', behind: end }) };
}

function outcomesFrom(fromMs: number): Place {
  return { phase: 'outcomes', behind: positionAt(fromMs) };
}

/** @param end the cursor after the last item of this phase or page */
function pageOf(items: readonly JobItem<ToCompare>[], isLast: boolean, end: string): JobPage<ToCompare> {
  const last = items.at(-1);
  return { items, next: isLast || last === undefined ? end : last.after };
}

function textOf(at: Place): string {
  return JSON.stringify(at);
}

/** One string for a processor, its mode and the account at it. */
export function wordOf({ name, mode, account }: BooksName): string {
  return JSON.stringify([name, mode, account]);
}
