/**
 * Finds objects at the processor that have no result yet. Each such object stays in a queue until an inquiry finds its
 * result.
 */
import { mayBeSameRefund, unansweredRefunds } from './nameless-refunds.ts';
import { isAwaited } from './payment.ts';
import type { PaymentState } from './payment-state.ts';
import { factsOf, isOfAnotherPayment, type ProcessorCharge } from './processor-charge.ts';

/**
 * Reports whether an object is open at the processor but not in the chain. Objects that are open in the chain were
 * queued with their transitions.
 */
export function isOpenUntracked(charge: ProcessorCharge, state: PaymentState): boolean {
  const { payment, refunds, disputes } = state;
  if (isOfAnotherPayment(charge, payment.id)) return false;
  if (isChargeOpen(charge, state)) return true;
  const unanswered = unansweredRefunds(charge, state);
  return factsOf(charge, payment, 0).some((fact) => {
    if (fact.kind === 'refund') {
      const known = refunds.get(fact.refundId);
      const isDeferred = known === undefined && unanswered.some((refund) => mayBeSameRefund(refund, fact));
      return isDeferred || (fact.status === 'pending' && known?.status !== 'pending');
    }
    return fact.kind === 'dispute' && fact.status === 'open' && disputes.get(fact.disputeId)?.status !== 'open';
  });
}

export function isOpen(charge: ProcessorCharge, state: PaymentState): boolean {
  const { refunds, disputes } = charge;
  return (
    isChargeOpen(charge, state) ||
    isOpenInChain(charge.chargeId, state) ||
    refunds.some(({ status }) => status === 'pending') ||
    disputes.some(({ status }) => status === 'open')
  );
}

export function isOpenInChain(chargeId: string, { refunds, disputes }: PaymentState): boolean {
  return (
    [...refunds.values()].some((refund) => refund.chargeId === chargeId && refund.status === 'pending') ||
    [...disputes.values()].some((dispute) => dispute.chargeId === chargeId && dispute.status === 'open')
  );
}

/**
 * The charge needs no separate queue entry if the payment already waits for it. An authorized charge needs none if the
 * payment is `requires_capture` for it (queue of holds), or if it is an authorized stray charge (queue of returns).
 */
function isChargeOpen({ chargeId, status }: ProcessorCharge, { payment, strayCharges }: PaymentState): boolean {
  const isOwn = chargeId === payment.chargeId;
  switch (status) {
    case 'pending':
    case 'requires_action':
      return !(isOwn && isAwaited(payment));
    case 'authorized':
      return !(isOwn && payment.status === 'requires_capture') && strayCharges.get(chargeId)?.status !== 'authorized';
    case 'succeeded':
    case 'declined':
    case 'voided':
      return false;
  }
}
