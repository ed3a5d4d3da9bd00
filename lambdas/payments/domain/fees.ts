export interface Fee {
  /** Negative when the processor pays back more than it deducts. */
  readonly amountMinor: number;
  readonly currency: string;
}

/**
 * The amounts that a processor deducts for a charge, its refunds and its disputes. Both fields are absent until the
 * processor has reported a fee.
 */
export interface Fees {
  /** In the charge's currency. */
  readonly feeMinor?: number;
  /**
   * Fees in other currencies, sorted. They occur if the account is settled in a different currency than the charge.
   * They are not converted, because they are compared with the processor's books, which do not contain the exchange
   * rate.
   */
  readonly otherFees?: readonly Fee[];
}

/** @param currency the currency of the charge */
export function sumFees(fees: readonly Fee[], currency: string): Fees {
  const sums = new Map<string, number>();
  for (const fee of fees) sums.set(fee.currency, (sums.get(fee.currency) ?? 0) + fee.amountMinor);
  const feeMinor = sums.get(currency);
  const otherFees = [...sums]
    .filter(([each]) => each !== currency)
    .map(([each, amountMinor]) => ({ amountMinor, currency: each }))
    .sort((left, right) => (left.currency < right.currency ? -1 : 1));
  return {
    ...defined({ feeMinor }),
    ...(otherFees.length === 0 ? {} : { otherFees }),
  };
}

export function feesOf({ feeMinor, otherFees }: Fees): Fees {
  return {
    ...defined({ feeMinor, otherFees }),
  };
}

/** @param currency the currency of the charge */
export function feeList({ feeMinor, otherFees = [] }: Fees, currency: string): readonly Fee[] {
  return [...(feeMinor === undefined ? [] : [{ amountMinor: feeMinor, currency }]), ...otherFees];
}

export function isFeeReported({ feeMinor, otherFees }: Fees): boolean {
  return feeMinor !== undefined || otherFees !== undefined;
}

/** @param currency the currency of the charge */
export function increaseOfFees(known: Fees, now: Fees, currency: string): readonly Fee[] {
  const decrease = feeList(known, currency).map((fee) => ({ ...fee, amountMinor: -fee.amountMinor }));
  const increase = sumFees([...feeList(now, currency), ...decrease], currency);
  return feeList(increase, currency).filter(({ amountMinor }) => amountMinor !== 0);
}

import { defined } from '../../kernel/defined.ts';
