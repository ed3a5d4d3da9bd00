import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { balancesOf, entriesOf } from '../../lambdas/views/store/ledger-rows.ts';
import type {
  Balance,
  BooksOwner,
  EntryQuery,
  LedgerEntry,
  LedgerReader,
} from '../../lambdas/views/use/ledger-reader.ts';

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
