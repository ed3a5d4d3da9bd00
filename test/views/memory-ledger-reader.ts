import { exactMinor, sumsOf } from '../../lambdas/payments/domain/sums.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import type {
  Balance,
  BalanceQuery,
  BooksOwner,
  EntryQuery,
  LedgerEntry,
  LedgerReader,
} from '../../lambdas/views/use/ledger-reader.ts';
import { entriesOf } from '../../lambdas/views/use/list-entries.ts';

/** A reference implementation for comparisons with the Views. */
export class MemoryLedgerReader implements LedgerReader {
  readonly #transitions: () => readonly Transition[];

  constructor(transitions: () => readonly Transition[]) {
    this.#transitions = transitions;
  }

  async entries(query: EntryQuery): Promise<readonly LedgerEntry[]> {
    return entriesOf(this.#ownedBy(query), query);
  }

  async balances({ untilMs = Infinity, ...owner }: BalanceQuery): Promise<readonly Balance[]> {
    const before = this.#ownedBy(owner).filter(({ occurredAtMs }) => occurredAtMs < untilMs);
    const sums = sumsOf(before.flatMap(({ postings }) => postings));
    return [...sums.values()].map(({ account, currency, debit, credit }) => ({
      account,
      currency,
      debitMinor: exactMinor(debit),
      creditMinor: exactMinor(credit),
    }));
  }

  #ownedBy({ tenantId, mode }: BooksOwner): readonly Transition[] {
    return this.#transitions().filter(({ payment }) => payment.tenantId === tenantId && payment.mode === mode);
  }
}
