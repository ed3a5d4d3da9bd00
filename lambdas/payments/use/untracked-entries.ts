import { isOpenUntracked } from '../domain/open-at-processor.ts';
import type { PaymentState } from '../domain/payment-state.ts';
import type { ProcessorCharge } from '../domain/processor-charge.ts';
import type { Effect, EffectStore } from './effect-store.ts';
import { inquiryForCharge } from './queued-with.ts';

/** A charge in the processor's books, and the chain after all facts of the charge were recorded. */
interface Shown {
  readonly charge: ProcessorCharge;
  readonly state: PaymentState;
}

/**
 * A charge with an inquiry is read until it has a result. A stray hold is voided, also if it reappears in the books
 * after its void.
 *
 * @param nowMs time at which the books were read, in Unix milliseconds
 */
export function untrackedEntries(
  { charge, state }: Shown,
  nowMs: number,
): Required<Pick<Effect, 'toReturn' | 'inquiries'>> {
  const { chargeId, status } = charge;
  const { id: paymentId } = state.payment;
  const isStrayHold = status === 'authorized' && state.strayCharges.get(chargeId)?.status === 'authorized';
  return {
    toReturn: isStrayHold ? [{ paymentId, chargeId, by: 'void', foundAtMs: nowMs }] : [],
    inquiries: isOpenUntracked(charge, state) ? [inquiryForCharge(paymentId, chargeId, nowMs)] : [],
  };
}

/**
 * Queues the open objects that an inquiry without new transitions has found. An existing entry keeps its times; only
 * its number `seen` increases.
 */
export async function queueUntracked(
  effects: Pick<EffectStore, 'queueOrNote'>,
  shown: Shown,
  nowMs: number,
): Promise<void> {
  const untracked = untrackedEntries(shown, nowMs);
  if (untracked.toReturn.length + untracked.inquiries.length > 0) await effects.queueOrNote(untracked);
}
