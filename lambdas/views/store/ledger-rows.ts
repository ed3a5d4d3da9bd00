import type { Payment } from '../../payments/domain/payment.ts';
import { exactMinor, sumsOf } from '../../payments/domain/sums.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import { type Balance, type BooksOwner, byPosition, type EntryQuery, type LedgerEntry } from '../use/ledger-reader.ts';

/** What a reader of the Ledger needs of a transition, wherever it was read. */
export interface LedgerRow extends Pick<Transition, 'sequence' | 'type' | 'occurredAtMs' | 'postings'> {
  readonly payment: Pick<Payment, 'id' | 'tenantId' | 'mode'>;
}

/** The entries that a query asks for, in the order of their positions. */
export function entriesOf(rows: readonly LedgerRow[], query: EntryQuery): readonly LedgerEntry[] {
  const { paymentId, account, fromMs = -Infinity, untilMs = Infinity, after, limit } = query;
  return rows
    .filter(({ payment, occurredAtMs }) => {
      const isAsked = paymentId === undefined || payment.id === paymentId;
      return isOwnedBy(payment, query) && isAsked && occurredAtMs >= fromMs && occurredAtMs < untilMs;
    })
    .flatMap(({ payment, sequence, type, occurredAtMs, postings }) =>
      postings.map((posting, leg) => ({ ...posting, paymentId: payment.id, sequence, type, occurredAtMs, leg })),
    )
    .filter((entry) => account === undefined || entry.account === account)
    .filter((entry) => after === undefined || byPosition(after, entry) < 0)
    .sort(byPosition)
    .slice(0, limit);
}

/**
 * The postings of all rows, added up.
 *
 * @throws TerminalError when a sum is beyond what a JSON number carries exactly
 */
export function balancesOf(rows: readonly LedgerRow[], owner: BooksOwner): readonly Balance[] {
  const sums = sumsOf(rows.filter(({ payment }) => isOwnedBy(payment, owner)).flatMap(({ postings }) => postings));
  return [...sums.values()].map(({ account, currency, debit, credit }) => ({
    account,
    currency,
    debitMinor: exactMinor(debit),
    creditMinor: exactMinor(credit),
  }));
}

function isOwnedBy(payment: LedgerRow['payment'], { tenantId, mode }: BooksOwner): boolean {
  return payment.tenantId === tenantId && payment.mode === mode;
}
