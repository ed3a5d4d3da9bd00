import { isOpenBesideChain } from '../domain/open-at-processor.ts';
import type { PaymentState } from '../domain/payment-state.ts';
import type { ProcessorCharge } from '../domain/processor-charge.ts';
import type { Effect } from './effect-store.ts';
import { inquiryForCharge } from './queued-with.ts';

/** What the processor's books show of a charge, and the chain with every fact of it. */
interface Shown {
  readonly charge: ProcessorCharge;
  readonly state: PaymentState;
}

/**
 * The entries of what the books show to be open and the chain does not show as open: the charge is looked up until it has a result, and
 * a stray hold is voided, once more if it had ended there before.
 *
 * @param nowMs the time of the look at the books. Unix milliseconds
 */
export function queuedBesideChain(
  { charge, state }: Shown,
  nowMs: number,
): Required<Pick<Effect, 'toReturn' | 'inquiries'>> {
  const { chargeId, status } = charge;
  const { id: paymentId } = state.payment;
  const isStrayHold = status === 'authorized' && state.strayCharges.get(chargeId)?.status === 'authorized';
  return {
    toReturn: isStrayHold ? [{ paymentId, chargeId, by: 'void', foundAtMs: nowMs }] : [],
    inquiries: isOpenBesideChain(charge, state) ? [inquiryForCharge(paymentId, chargeId, nowMs)] : [],
  };
}
