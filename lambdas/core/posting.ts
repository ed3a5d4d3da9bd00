import { invariant } from './invariant.ts';

/** The chart of accounts, per tenant, mode and currency. */
export type Account =
  /** What the processor holds for us. */
  | 'processor_clearing'
  /** What we owe the merchant. */
  | 'merchant_payable'
  /** Money that arrived for a payment that had already ended: owed back to the payer. */
  | 'late_receipts';

export interface Posting {
  readonly account: Account;
  readonly direction: 'debit' | 'credit';
  /** Positive; minor units. */
  readonly amountMinor: number;
  readonly currency: string;
}

/**
 * Double entry: debits equal credits in every currency.
 *
 * @throws InvariantViolation when they do not
 */
export function assertBalanced(postings: readonly Posting[]): void {
  const sums = new Map<string, number>();
  for (const posting of postings) {
    invariant(
      Number.isSafeInteger(posting.amountMinor) && posting.amountMinor > 0,
      `a posting's amount must be a positive safe integer, not ${posting.amountMinor}`,
    );
    const signed = posting.direction === 'debit' ? posting.amountMinor : -posting.amountMinor;
    sums.set(posting.currency, (sums.get(posting.currency) ?? 0) + signed);
  }
  for (const [currency, sum] of sums) invariant(sum === 0, `postings in ${currency} are off balance by ${sum}`);
}

/** Moves an amount: what is debited to one account is credited to the other. */
export function transfer(debit: Account, credit: Account, amountMinor: number, currency: string): readonly Posting[] {
  return [
    { account: debit, direction: 'debit', amountMinor, currency },
    { account: credit, direction: 'credit', amountMinor, currency },
  ];
}
