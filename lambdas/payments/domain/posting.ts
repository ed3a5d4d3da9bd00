import { invariant } from '../../kernel/invariant.ts';

/**
 * The chart of accounts, per tenant, mode and currency. What the merchant may be paid is `merchant_payable` less
 * `refunds`, `fees` and `disputes`, which are kept apart so that each can be told by itself.
 */
export const ACCOUNTS = [
  /** What the processor holds for us. */
  'processor_clearing',
  /** What was taken for the merchant. */
  'merchant_payable',
  /** What was given back to payers. */
  'refunds',
  /** What the processor kept for its work. */
  'fees',
  /** What payers' banks took back. */
  'disputes',
  /** Money that arrived for a payment that had ended, or twice: owed back to the payer. */
  'late_receipts',
  /** The other side of what an operator sets right. */
  'corrections',
] as const;

export type Account = (typeof ACCOUNTS)[number];

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

/** The same amounts the other way round. */
export function reversed(postings: readonly Posting[]): readonly Posting[] {
  return postings.map((posting) => ({ ...posting, direction: posting.direction === 'debit' ? 'credit' : 'debit' }));
}

/** What an account gained by these postings, debits less credits. Minor units. */
export function netDebitMinor(account: Account, currency: string, postings: readonly Posting[]): number {
  return postings
    .filter((posting) => posting.account === account && posting.currency === currency)
    .reduce((sum, { direction, amountMinor }) => sum + (direction === 'debit' ? amountMinor : -amountMinor), 0);
}
