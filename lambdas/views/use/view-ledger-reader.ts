import { defined } from '../../kernel/defined.ts';
import { TerminalError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import { timeSortKey } from '../../kernel/places.ts';
import { addedSums, exactMinor, NO_SUMS, type Sums } from '../../payments/domain/sums.ts';
import { entryList, entrySortKey, FIRST_SORT_KEY, LAST_SORT_KEY } from '../domain/lists.ts';
import { bookEntryOf, DAY_MS, IMPLICIT_ACCOUNT, type ViewRow } from '../domain/views.ts';
import { closedSums, sumEntries, totalRows } from './close-days.ts';
import {
  type Balance,
  type BalanceQuery,
  byPosition,
  type EntryQuery,
  type LedgerEntry,
  type LedgerReader,
} from './ledger-reader.ts';
import { mergedRows } from './merged-rows.ts';
import type { ViewStore } from './view-store.ts';

/**
 * Maximum number of pages per query. Without a filter by currency, only a query for {@link IMPLICIT_ACCOUNT} can need
 * more than one page: its entries are selected from the list of all postings, and a set of postings can lack an entry
 * in this account. Only an operator's correction does.
 */
const MAX_PAGES = 250;
/**
 * Maximum number of pages per query by currency. Without this limit, postings in other currencies could make the query
 * arbitrarily long.
 */
const MAX_PAGES_OF_CURRENCY = 11;
/**
 * Minimum number of rows in each page after the first one. For each partition, these rows take about half a megabyte; a
 * query returns at most one megabyte.
 */
const MIN_PAGE = 2_000;

/**
 * Reads ledger entries and balances from the Views. A page of entries reads about as many rows as it returns; for a
 * rare currency, it reads at most about 20,000 rows. A balance reads the totals of closed days and the entries of open
 * days. Both lag behind the Ledger by the delivery time of events.
 */
export class ViewLedgerReader implements LedgerReader {
  readonly #views: Pick<ViewStore, 'range'>;

  constructor(views: Pick<ViewStore, 'range'>) {
    this.#views = views;
  }

  async entries(query: EntryQuery): Promise<readonly LedgerEntry[]> {
    const { account, currency, fromMs, untilMs, after, limit } = query;
    const begin = fromMs === undefined ? FIRST_SORT_KEY : timeSortKey(fromMs);
    // Read the set of postings at the cursor again, because it can have legs after the cursor.
    const resumed = after === undefined ? FIRST_SORT_KEY : entrySortKey(after);
    const until = untilMs === undefined ? LAST_SORT_KEY : timeSortKey(untilMs);
    const list = entryList(query, account === undefined || account === IMPLICIT_ACCOUNT ? 'all' : account);
    let rowsAtOnce = limit + 1;
    const entries: LedgerEntry[] = [];
    let from = begin > resumed ? begin : resumed;
    for (let page = 0; entries.length < limit; page += 1) {
      if (currency !== undefined && page === MAX_PAGES_OF_CURRENCY) {
        throw new TerminalError(
          'currency_too_rare',
          `the first ${MAX_PAGES_OF_CURRENCY} pages together contain fewer entries in ${currency} than the limit`,
        );
      }
      invariant(
        page < MAX_PAGES,
        `the first ${MAX_PAGES} pages together contain fewer entries than the limit, for ${account ?? 'all accounts'}`,
      );
      const rows = await mergedRows(this.#views, { ...list, from, until, limit: rowsAtOnce });
      entries.push(
        ...rows
          .flatMap((row) => entriesOf(row))
          .filter((entry) => account === undefined || entry.account === account)
          .filter((entry) => currency === undefined || entry.currency === currency)
          .filter((entry) => after === undefined || byPosition(after, entry) < 0),
      );
      if (rows.length < rowsAtOnce) break;
      rowsAtOnce = Math.max(rowsAtOnce, MIN_PAGE);
      // The last key followed by a space is the next possible sort key.
      from = `${rows.at(-1)?.sort ?? from} `;
    }
    return entries.slice(0, limit);
  }

  async balances(query: BalanceQuery): Promise<readonly Balance[]> {
    const sums = await this.#sums(query);
    return [...sums.values()].map(({ account, currency, debit, credit }) => ({
      account,
      currency,
      debitMinor: exactMinor(debit),
      creditMinor: exactMinor(credit),
    }));
  }

  /**
   * Sums the totals of closed days, and the entries before, between and after these days. For the day that contains
   * `untilMs`, only entries are summed.
   */
  async #sums({ untilMs = Infinity, ...owner }: BalanceQuery): Promise<Sums> {
    let sums = NO_SUMS;
    let openFromMs: number | undefined;
    for (const row of await totalRows(this.#views, owner)) {
      const closed = closedSums(row);
      if (closed === undefined) continue;
      const dayMs = Number(row.sort);
      if (dayMs + DAY_MS > untilMs) break;
      if (openFromMs === undefined || openFromMs < dayMs) {
        const open = { ...defined({ fromMs: openFromMs }), untilMs: dayMs };
        sums = addedSums(sums, await sumEntries(this.#views, owner, open, false));
      }
      sums = addedSums(sums, closed);
      openFromMs = dayMs + DAY_MS;
    }
    const open = {
      ...defined({ fromMs: openFromMs }),
      ...(untilMs === Infinity ? {} : { untilMs }),
    };
    return addedSums(sums, await sumEntries(this.#views, owner, open, false));
  }
}

function entriesOf(row: ViewRow): readonly LedgerEntry[] {
  const { occurredAtMs, paymentId, sequence, type, legs } = bookEntryOf(row);
  return legs.map((posting) => ({ ...posting, occurredAtMs, paymentId, sequence, type }));
}
