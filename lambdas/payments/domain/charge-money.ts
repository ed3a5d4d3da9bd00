import type { Refund } from './payment.ts';
import type { PaymentState } from './payment-state.ts';
import type { ProcessorCharge } from './processor-charge.ts';

/** The money of one captured charge, as the chain records it. Minor units. */
export interface ChargeMoney {
  /** The account that is debited when money of the charge is returned. */
  readonly account: 'refunds' | 'late_receipts';
  readonly currency: string;
  readonly capturedMinor: number;
  /** Refunds that succeeded. */
  readonly refundedMinor: number;
  /** Refunds without an outcome, whose amount is reserved. */
  readonly pendingMinor: number;
  /** Disputes that are open or lost. The bank holds or has taken this amount. */
  readonly disputedMinor: number;
  /**
   * The amount that can still be returned: captured, less all of the above. Negative when disputes exceed the
   * remainder.
   */
  readonly leftMinor: number;
}

/** @returns undefined when no money was captured by the charge */
export function moneyOf(chargeId: string, state: PaymentState): ChargeMoney | undefined {
  const { payment, strayCharges, refunds, disputes } = state;
  const stray = strayCharges.get(chargeId);
  const isStray = stray?.status === 'captured';
  if (!isStray && (payment.chargeId !== chargeId || payment.amountCapturedMinor === 0)) return undefined;
  const capturedMinor = isStray ? stray.amountMinor : payment.amountCapturedMinor;
  const sumOfRefunds = (status: Refund['status']) =>
    sumOf([...refunds.values()].filter((refund) => refund.chargeId === chargeId && refund.status === status));
  const refundedMinor = sumOfRefunds('succeeded');
  const pendingMinor = sumOfRefunds('pending');
  const disputedMinor = sumOf(
    [...disputes.values()].filter((dispute) => dispute.chargeId === chargeId && dispute.status !== 'won'),
  );
  return {
    account: isStray ? 'late_receipts' : 'refunds',
    currency: isStray ? stray.currency : payment.currency,
    capturedMinor,
    refundedMinor,
    pendingMinor,
    disputedMinor,
    leftMinor: capturedMinor - refundedMinor - pendingMinor - disputedMinor,
  };
}

/**
 * Whether the chain has posted what the processor's books show of a charge, after every fact of it was decided. A charge in review
 * is not posted before an operator has decided.
 */
export function isAsPosted(charge: ProcessorCharge, state: PaymentState): boolean {
  const { chargeId, currency, capturedMinor, refunds, disputes } = charge;
  const { payment } = state;
  if (payment.status === 'needs_review' && payment.chargeId === chargeId) return true;
  const posted = moneyOf(chargeId, state) ?? { currency, capturedMinor: 0, refundedMinor: 0, disputedMinor: 0 };
  return (
    posted.currency === currency &&
    posted.capturedMinor === capturedMinor &&
    posted.refundedMinor === sumOf(refunds.filter(({ status }) => status === 'succeeded')) &&
    posted.disputedMinor === sumOf(disputes.filter(({ status }) => status !== 'won'))
  );
}

export function sumOf(parts: readonly { readonly amountMinor: number }[]): number {
  return parts.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
}
