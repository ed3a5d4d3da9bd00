import { invariant } from '../../kernel/invariant.ts';

/**
 * The chart of accounts, per tenant, mode and currency. The balance due to the merchant is `merchant_payable` minus
 * `refunds`, `fees` and `disputes`. These are separate accounts, so that each can be reported.
 */
export const ACCOUNTS = [
  /** The money that the processor holds. */
  'processor_clearing',
  /** The money that was captured for the merchant. */
  'merchant_payable',
  'refunds',
  'fees',
  /** The money that payers' banks took back. */
  'disputes',
  /** The money of stray charges, owed to payers. */
  'late_receipts',
  /** The contra account of corrections. */
  'corrections',
] as const;

export type Account = (typeof ACCOUNTS)[number];

export interface Posting {
  readonly account: Account;
  readonly direction: 'debit' | 'credit';
  /** Positive. */
  readonly amountMinor: number;
  readonly currency: string;
}

/** Checks double entry: debits equal credits in every currency. */
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

export function transfer(debit: Account, credit: Account, amountMinor: number, currency: string): readonly Posting[] {
  return [
    { account: debit, direction: 'debit', amountMinor, currency },
    { account: credit, direction: 'credit', amountMinor, currency },
  ];
}

export function reversed(postings: readonly Posting[]): readonly Posting[] {
  return postings.map((posting) => ({ ...posting, direction: posting.direction === 'debit' ? 'credit' : 'debit' }));
}

export function netDebitMinor(account: Account, currency: string, postings: readonly Posting[]): number {
  return postings
    .filter((posting) => posting.account === account && posting.currency === currency)
    .reduce((sum, { direction, amountMinor }) => sum + (direction === 'debit' ? amountMinor : -amountMinor), 0);
}

export function postingObject({ account, direction, amountMinor, currency }: Posting): Record<string, unknown> {
  return { account, direction, amount: amountMinor, currency };
}
