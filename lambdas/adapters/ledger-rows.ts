import type { Balance, BooksOwner, EntryPosition, EntryQuery, LedgerEntry } from '../app/ports/ledger-reader.ts';
import { TerminalError } from '../core/faults.ts';
import type { Payment } from '../core/payment.ts';
import type { Transition } from '../core/transition.ts';

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

function byPosition(left: EntryPosition, right: EntryPosition): number {
  if (left.occurredAtMs !== right.occurredAtMs) return left.occurredAtMs - right.occurredAtMs;
  if (left.paymentId !== right.paymentId) return left.paymentId < right.paymentId ? -1 : 1;
  return left.sequence - right.sequence || left.leg - right.leg;
}

/**
 * The postings of all rows, added up. In big integers: a sum of money that loses its last digits without a word is wrong.
 *
 * @throws TerminalError when a sum is beyond what a JSON number carries exactly
 */
export function balancesOf(rows: readonly LedgerRow[], owner: BooksOwner): readonly Balance[] {
  const sums = new Map<string, Pick<Balance, 'account' | 'currency'> & Sums>();
  for (const { account, currency, direction, amountMinor } of rows
    .filter(({ payment }) => isOwnedBy(payment, owner))
    .flatMap(({ postings }) => postings)) {
    const key = `${currency} ${account}`;
    const sum = sums.get(key) ?? { account, currency, debit: 0n, credit: 0n };
    sums.set(key, { ...sum, [direction]: sum[direction] + BigInt(amountMinor) });
  }
  return [...sums.values()].map(({ account, currency, debit, credit }) => ({
    account,
    currency,
    debitMinor: exact(debit),
    creditMinor: exact(credit),
  }));
}

interface Sums {
  readonly debit: bigint;
  readonly credit: bigint;
}

function exact(sum: bigint): number {
  if (sum > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new TerminalError('balance_too_large', `the sum ${sum} is beyond what a number holds exactly`);
  }
  return Number(sum);
}

function isOwnedBy(payment: LedgerRow['payment'], { tenantId, mode }: BooksOwner): boolean {
  return payment.tenantId === tenantId && payment.mode === mode;
}
