import type { Refund } from './payment.ts';
import type { PaymentState } from './payment-state.ts';
import type { ProcessorCharge } from './processor-charge.ts';

/** The amounts of one captured charge, as recorded in the chain. */
export interface ChargeMoney {
  /** The account that is debited when the charge is refunded. */
  readonly account: 'refunds' | 'late_receipts';
  readonly currency: string;
  readonly capturedMinor: number;
  readonly refundedMinor: number;
  /** Sum of the refunds that have no outcome yet. This amount is reserved. */
  readonly pendingMinor: number;
  /** Sum of the open and lost disputes. The payer's bank holds this amount. */
  readonly disputedMinor: number;
  /** Amount that can still be refunded. Negative when disputes exceed the remainder. */
  readonly leftMinor: number;
}

/** Undefined if no captured money of the charge is recorded. */
export function moneyOf(chargeId: string, state: PaymentState): ChargeMoney | undefined {
  const { payment, strayCharges, refunds, disputes, sums } = state;
  const stray = strayCharges.get(chargeId);
  const isStray = stray?.status === 'captured';
  if (!isStray && (payment.chargeId !== chargeId || payment.amountCapturedMinor === 0)) return undefined;
  const capturedMinor = isStray ? stray.amountMinor : payment.amountCapturedMinor;
  const sumOfRefunds = (status: Refund['status']) =>
    sumOf([...refunds.values()].filter((refund) => refund.chargeId === chargeId && refund.status === status));
  // The refunds of the payment's own charge may not all have been read, but their sums are always known.
  const refundedMinor = isStray ? sumOfRefunds('succeeded') : payment.amountRefundedMinor;
  const pendingMinor = isStray ? sumOfRefunds('pending') : sums.reservedMinor;
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
 * Call this function after all facts of the charge were decided. Returns true for a charge in review, because nothing
 * is posted for it until an operator has decided.
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
