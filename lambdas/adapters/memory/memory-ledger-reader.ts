import type { Balance, BooksOwner, EntryQuery, LedgerEntry, LedgerReader } from '../../app/ports/ledger-reader.ts';
import type { Transition } from '../../core/transition.ts';
import { balancesOf, entriesOf } from '../ledger-rows.ts';

/** The postings of transitions in memory. Proven by the same suite as the real one. */
export class MemoryLedgerReader implements LedgerReader {
  readonly #transitions: () => readonly Transition[];

  /** @param transitions all that are written now, of all payments */
  constructor(transitions: () => readonly Transition[]) {
    this.#transitions = transitions;
  }

  async entries(query: EntryQuery): Promise<readonly LedgerEntry[]> {
    return entriesOf(this.#transitions(), query);
  }

  async balances(owner: BooksOwner): Promise<readonly Balance[]> {
    return balancesOf(this.#transitions(), owner);
  }
}
