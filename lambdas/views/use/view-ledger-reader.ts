import { addedSums, exactMinor, NO_SUMS, type Sums } from '../../payments/domain/sums.ts';
import { bookEntryOf, bookPartitions, bookPlace, DAY_MS, FIRST_PLACE, LAST_PLACE, placeOf } from '../domain/views.ts';
import { closedSums, sumEntries, totalRows } from './close-days.ts';
import {
  type Balance,
  type BooksOwner,
  byPosition,
  type EntryQuery,
  type LedgerEntry,
  type LedgerReader,
} from './ledger-reader.ts';
import { mergedRows } from './merged-rows.ts';
import type { ViewStore } from './view-store.ts';

/**
 * Reads the books from the Views. A page of entries reads about its own size; a balance reads the totals of closed days and
 * the entries of open days. Both lag behind the Ledger by the delivery time of events.
 */
export class ViewLedgerReader implements LedgerReader {
  readonly #views: Pick<ViewStore, 'range'>;

  constructor(views: Pick<ViewStore, 'range'>) {
    this.#views = views;
  }

  async entries(query: EntryQuery): Promise<readonly LedgerEntry[]> {
    const { account, fromMs, untilMs, after, limit } = query;
    const begin = fromMs === undefined ? FIRST_PLACE : placeOf(fromMs);
    // The cursor's set of postings can have legs after the cursor.
    const resumed = after === undefined ? FIRST_PLACE : bookPlace(after);
    const rows = await mergedRows(this.#views, {
      partitions: bookPartitions(query, account ?? 'all'),
      from: begin > resumed ? begin : resumed,
      until: untilMs === undefined ? LAST_PLACE : placeOf(untilMs),
      limit: limit + 1,
    });
    return rows
      .flatMap((row) => {
        const { occurredAtMs, paymentId: id, sequence, type, legs } = bookEntryOf(row);
        return legs.map((posting) => ({ ...posting, occurredAtMs, paymentId: id, sequence, type }));
      })
      .filter((entry) => after === undefined || byPosition(after, entry) < 0)
      .slice(0, limit);
  }

  async balances(owner: BooksOwner): Promise<readonly Balance[]> {
    const sums = await this.#sums(owner);
    return [...sums.values()].map(({ account, currency, debit, credit }) => ({
      account,
      currency,
      debitMinor: exactMinor(debit),
      creditMinor: exactMinor(credit),
    }));
  }

  /** Sums the totals of closed days and the entries before, between and after them. */
  async #sums(owner: BooksOwner): Promise<Sums> {
    let sums = NO_SUMS;
    let openFromMs: number | undefined;
    for (const row of await totalRows(this.#views, owner)) {
      const closed = closedSums(row);
      if (closed === undefined) continue;
      const dayMs = Number(row.sort);
      if (openFromMs === undefined || openFromMs < dayMs) {
        const open = { ...(openFromMs === undefined ? {} : { fromMs: openFromMs }), untilMs: dayMs };
        sums = addedSums(sums, await sumEntries(this.#views, owner, open, false));
      }
      sums = addedSums(sums, closed);
      openFromMs = dayMs + DAY_MS;
    }
    const open = openFromMs === undefined ? {} : { fromMs: openFromMs };
    return addedSums(sums, await sumEntries(this.#views, owner, open, false));
  }
}
