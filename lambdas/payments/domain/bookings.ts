import type { Fee } from './fees.ts';
import type { Posting } from './posting.ts';
import { reversed, transfer } from './posting.ts';
import type { Posts } from './state-tables.ts';

export interface BookingInput {
  /** For a fee, the increase since the last booking, which may be negative. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly fees?: readonly Fee[];
  /** The account that is debited for refunded money. */
  readonly account?: 'refunds' | 'late_receipts';
}

export function book(posts: Posts | undefined, booked: BookingInput): readonly Posting[] {
  const { amountMinor, currency, fees = [], account = 'refunds' } = booked;
  switch (posts) {
    case undefined:
      return [];
    case 'receipt':
      return [
        ...transfer('processor_clearing', 'merchant_payable', amountMinor, currency),
        ...fees.flatMap((fee) => bookFee(fee)),
      ];
    case 'fee':
      return bookFee({ amountMinor, currency });
    case 'late_receipt':
      return transfer('processor_clearing', 'late_receipts', amountMinor, currency);
    case 'give_back':
      return transfer(account, 'processor_clearing', amountMinor, currency);
    case 'give_back_undone':
      return reversed(transfer(account, 'processor_clearing', amountMinor, currency));
    case 'dispute':
      return transfer('disputes', 'processor_clearing', amountMinor, currency);
    case 'dispute_undone':
      return reversed(transfer('disputes', 'processor_clearing', amountMinor, currency));
  }
}

function bookFee({ amountMinor, currency }: Fee): readonly Posting[] {
  if (amountMinor === 0) return [];
  const postings = transfer('fees', 'processor_clearing', Math.abs(amountMinor), currency);
  return amountMinor > 0 ? postings : reversed(postings);
}
