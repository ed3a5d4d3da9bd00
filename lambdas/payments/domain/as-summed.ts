import { isAsPosted } from './charge-money.ts';
import { decide } from './decide.ts';
import type { RefundFact } from './facts.ts';
import { isOpenUntracked } from './open-at-processor.ts';
import type { PaymentState } from './payment-state.ts';
import { checksumOf, checksumWithout } from './payment-sums.ts';
import { factsOf, isOfAnotherPayment, type ProcessorCharge } from './processor-charge.ts';

/**
 * Returns whether the processor's books for a charge match the sums of the chain. If they match, there is no fact to
 * record and no queue entry to write. Refunds are compared by checksums. These do not cover failed refunds, so books
 * that contain a failed refund never match.
 *
 * @param state the state from `summedState`, with the change in progress
 */
export function isAsSummed(charge: ProcessorCharge, state: PaymentState): boolean {
  const { payment } = state;
  if (charge.chargeId !== payment.chargeId || isOfAnotherPayment(charge, payment.id)) return false;
  const withoutRefunds = { ...charge, refunds: [] };
  return (
    areRefundsAsSummed(charge, state) &&
    factsOf(withoutRefunds, payment, 0).every((fact) => decide(fact, state).kind === 'nothing') &&
    isAsPosted(charge, state) &&
    !isOpenUntracked(withoutRefunds, state)
  );
}

function areRefundsAsSummed(charge: ProcessorCharge, { payment, sums, refunds }: PaymentState): boolean {
  const shown = factsOf(charge, payment, 0).filter((fact) => fact.kind === 'refund');
  const having = (status: RefundFact['status']) => shown.filter((fact) => fact.status === status);
  const inProgress = [...refunds.values()].filter(({ status }) => status === 'pending');
  const pending = having('pending');
  return (
    checksumOf(having('succeeded')) === sums.settledCheck &&
    // The sums may contain a refund that a rival has just begun and that is not in the books yet.
    (pending.length === 0 || checksumOf(pending) === checksumWithout(sums.pendingCheck, inProgress)) &&
    having('failed').length === 0
  );
}
