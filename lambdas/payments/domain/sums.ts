import { TerminalError } from '../../kernel/faults.ts';
import type { Account, Posting } from './posting.ts';

/** In minor units, of type `bigint`, because a `number` would silently lose precision. */
interface Sum {
  readonly account: Account;
  readonly currency: string;
  readonly debit: bigint;
  readonly credit: bigint;
}

/** An account without postings has no entry. */
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

export function exactMinor(sum: bigint): number {
  if (sum > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new TerminalError('balance_too_large', `the sum ${sum} exceeds the largest safe integer`);
  }
  return Number(sum);
}

export function sumKey(account: Account, currency: string): string {
  return `${currency} ${account}`;
}
