/**
 * Refunds of Payonce whose operation was removed from their metadata, as every user of the processor's account can do. The books show such
 * a refund under the processor's id, as they show one that another user made: which of the two it is cannot be found out.
 */
import { isRefundOf } from '../../kernel/ids.ts';
import type { RefundFact } from './facts.ts';
import type { Refund } from './payment.ts';
import type { PaymentState } from './payment-state.ts';
import type { ProcessorCharge } from './processor-charge.ts';

/**
 * The refunds of the charge that Payonce has made and recorded, and that its books do not show under their operations.
 *
 * @param status what was recorded of them
 */
export function missingRefunds(
  { chargeId, refunds: shown }: Pick<ProcessorCharge, 'chargeId' | 'refunds'>,
  { payment, refunds }: Pick<PaymentState, 'payment' | 'refunds'>,
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

/** Whether two refunds can be the same one. */
export function isAlike(
  a: Pick<RefundFact, 'chargeId' | 'amountMinor'>,
  b: Pick<RefundFact, 'chargeId' | 'amountMinor'>,
): boolean {
  return a.chargeId === b.chargeId && a.amountMinor === b.amountMinor;
}
