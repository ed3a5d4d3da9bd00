import { changeOf, isUnderWay } from '../domain/change.ts';
import { moneyOf, sumOf } from '../domain/charge-money.ts';
import type { PaymentState } from '../domain/payment-state.ts';
import { isOfAnotherPayment, type ProcessorCharge } from '../domain/processor-charge.ts';
import type { ChangeOrder, Processor } from './processor.ts';
import { READ_TIMEOUT_MS, type RecordChargeTools, recordCharge, recordUnlessSummed } from './record-charge.ts';
import type { SummedChain } from './summed-chain.ts';

export interface ReadCharge {
  readonly charge: ProcessorCharge;
  /** The payment's chain, which contains every fact of `charge`: in its transitions or in its sums. */
  readonly chain: SummedChain;
}

/**
 * Reads the charge from its processor's books and records its facts. Callbacks can be lost or late. Therefore, every
 * sender of a capture, a cancellation, a refund or a return must call this function right before each send, and pass
 * the result to {@link maySend}.
 *
 * @throws as `recordCharge`
 */
export function readChargeBeforeSend(
  { processor, ...tools }: RecordChargeTools & { readonly processor: Pick<Processor, 'showCharge'> },
  { operationId, paymentId, chargeId }: Pick<ChangeOrder, 'operationId' | 'paymentId' | 'chargeId'>,
  known?: SummedChain,
): Promise<ReadCharge> {
  const show = (): Promise<ProcessorCharge> => processor.showCharge(chargeId, { timeoutMs: READ_TIMEOUT_MS });
  return known === undefined
    ? recordCharge(tools, paymentId, operationId, show)
    : recordUnlessSummed(tools, paymentId, operationId, show, known);
}

/**
 * Since the change began, a dispute or another user of the processor's account may have taken the money or ended the
 * hold. Books that are not strongly consistent can lag behind the chain. The currencies are compared because Stripe
 * applies an amount in the currency of the charge.
 */
export function maySend(
  { operationId, chargeId, currency, change }: ChangeOrder,
  { charge, chain: { state } }: ReadCharge,
): boolean {
  if (isOfAnotherPayment(charge, state.payment.id)) return false;
  if (charge.currency !== currency) return false;
  const begun = changeOf(state, operationId);
  if (begun !== undefined && !isUnderWay(begun, state)) return false;
  switch (change.kind) {
    case 'capture':
      return charge.status === 'authorized';
    case 'void':
      return charge.status === 'authorized' || charge.status === 'requires_action' || charge.status === 'pending';
    case 'refund':
      return (
        change.amountMinor <= leftFor(operationId, chargeId, state) &&
        change.amountMinor <= shownLeftMinor(charge, operationId)
      );
  }
}

/**
 * Returns the money that is not reserved for earlier refunds. A dispute can take money that is already reserved, and
 * pending refunds then get the remaining money in the order in which they began. If only the sums of the chain are
 * known, there is no later refund, because this refund has just begun.
 */
function leftFor(refundId: string, chargeId: string, state: PaymentState): number {
  const money = moneyOf(chargeId, state);
  if (money === undefined) return 0;
  const pending = [...state.refunds.values()].filter((each) => each.chargeId === chargeId && each.status === 'pending');
  const place = pending.findIndex((each) => each.refundId === refundId);
  return money.leftMinor + (place === -1 ? 0 : sumOf(pending.slice(place)));
}

function shownLeftMinor({ capturedMinor, refunds, disputes }: ProcessorCharge, refundId: string): number {
  const own = refunds.find((refund) => refund.refundId === refundId);
  return (
    capturedMinor -
    sumOf(refunds.filter((refund) => refund !== own && refund.status !== 'failed')) -
    sumOf(disputes.filter(({ status }) => status !== 'won'))
  );
}
