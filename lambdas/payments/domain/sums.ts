import { TerminalError } from '../../kernel/faults.ts';
import type { Account, Posting } from './posting.ts';

/** What stands on an account in a currency. Minor units, in big integers: a sum that loses its last digits without a word is wrong. */
interface Sum {
  readonly account: Account;
  readonly currency: string;
  readonly debit: bigint;
  readonly credit: bigint;
}

/** The sums of some postings; an account without any has none. */
export type Sums = ReadonlyMap<string, Sum>;

export const NO_SUMS: Sums = new Map();

export function sumsOf(postings: Iterable<Posting>): Sums {
  const sums = new Map<string, Sum>();
  for (const { account, currency, direction, amountMinor } of postings) {
    const key = sumKey(account, currency);
    const sum = sums.get(key) ?? { account, currency, debit: 0n, credit: 0n };
    sums.set(key, { ...sum, [direction]: sum[direction] + BigInt(amountMinor) });
  }
  return sums;
}

export function addedSums(left: Sums, right: Sums): Sums {
  const sums = new Map(left);
  for (const [key, { account, currency, debit, credit }] of right) {
    const sum = sums.get(key) ?? { account, currency, debit: 0n, credit: 0n };
    sums.set(key, { ...sum, debit: sum.debit + debit, credit: sum.credit + credit });
  }
  return sums;
}

/** @throws TerminalError when the sum is beyond what a JSON number carries exactly */
export function exactMinor(sum: bigint): number {
  if (sum > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new TerminalError('balance_too_large', `the sum ${sum} is beyond what a number holds exactly`);
  }
  return Number(sum);
}

export function sumKey(account: Account, currency: string): string {
  return `${currency} ${account}`;
}
