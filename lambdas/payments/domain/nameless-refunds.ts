/**
 * Detects refunds by Payonce whose metadata no longer names their operation. Every user of the processor's account can
 * change metadata. The books then show the refund under the processor's id, so it cannot be distinguished from a refund
 * that another user made.
 */
import { isRefundOf, isReturn } from '../ids.ts';
import type { RefundFact } from './facts.ts';
import type { Refund } from './payment.ts';
import type { PaymentState } from './payment-state.ts';
import type { ProcessorCharge } from './processor-charge.ts';

type Shown = Pick<ProcessorCharge, 'chargeId' | 'refunds'>;
type Known = Pick<PaymentState, 'payment' | 'refunds'>;

/**
 * Lists the refunds of the charge that Payonce made and recorded, but that the processor's books do not list under
 * their operation ids.
 */
export function missingRefunds(
  { chargeId, refunds: shown }: Shown,
  { payment, refunds }: Known,
  status: 'pending' | 'succeeded',
): readonly Refund[] {
  const names = new Set(shown.map(({ refundId }) => refundId));
  return [...refunds.values()].filter(
    (refund) =>
      refund.chargeId === chargeId &&
      refund.status === status &&
      isRefundOf(refund.refundId, payment.id) &&
      !names.has(refund.refundId),
  );
}

/**
 * Lists the refunds that may have taken effect although their requests got no response. The books may contain such a
 * refund under the processor's id. Until the request's outcome is known, a new refund that looks the same is not
 * recorded, because the same refund could otherwise be posted twice.
 */
export function unansweredRefunds(charge: Shown, state: Known): readonly Refund[] {
  return missingRefunds(charge, state, 'pending').filter(({ refundId, accepted }) => !accepted && !isReturn(refundId));
}

export function mayBeSameRefund(
  a: Pick<RefundFact, 'chargeId' | 'amountMinor'>,
  b: Pick<RefundFact, 'chargeId' | 'amountMinor'>,
): boolean {
  return a.chargeId === b.chargeId && a.amountMinor === b.amountMinor;
}
