/**
 * Compares an operator's decision about a charge with the processor's books. A decision that the books contradict is
 * refused: otherwise, a wrong amount would be posted and reported to the merchant until the next reconciliation.
 */
import { changeOf } from '../../payments/domain/change.ts';
import { mayBeSameRefund, missingRefunds } from '../../payments/domain/nameless-refunds.ts';
import type { HoldChange, Refund } from '../../payments/domain/payment.ts';
import type { PaymentState } from '../../payments/domain/payment-state.ts';
import {
  factsOf,
  isOfAnotherPayment,
  isOwnCharge,
  type ProcessorCharge,
} from '../../payments/domain/processor-charge.ts';
import type { DecisionRequest } from './operator-decision.ts';

/** The fields of a decision that the processor's books can contradict. */
export type Claim = Pick<DecisionRequest, 'outcome' | 'change' | 'chargeId' | 'takenMinor'>;

export type BooksDifference =
  /** The books contain no charge of this payment with the claimed id. */
  | { readonly kind: 'charge_not_shown' }
  | {
      readonly kind: 'amount_not_shown';
      readonly what: 'captured' | 'held' | 'refunded';
      readonly stated: Money;
      readonly shown: Money;
    };

interface Money {
  readonly amountMinor: number;
  readonly currency: string;
}

/**
 * Undefined if no charge id is known, or if the decision is that the payment failed. The books cannot contradict such a
 * decision, because a charge that they show, now or later, is refunded to the payer.
 */
export function claimedCharge(
  { outcome, change, chargeId }: Pick<Claim, 'outcome' | 'change' | 'chargeId'>,
  state: PaymentState,
): string | undefined {
  const { payment } = state;
  if (change === undefined) return outcome === 'succeeded' ? (chargeId ?? payment.chargeId) : undefined;
  const decided = changeOf(state, change);
  return decided?.kind === 'refund' ? decided.chargeId : payment.chargeId;
}

/**
 * @param charge undefined when the books do not contain it
 * @returns undefined when the books confirm the decision
 */
export function differenceFromBooks(
  claim: Claim,
  state: PaymentState,
  charge: ProcessorCharge | undefined,
): BooksDifference | undefined {
  const { payment } = state;
  const change = claim.change === undefined ? undefined : changeOf(state, claim.change);
  const isOwn = charge !== undefined && isShownOf(charge, state);
  // Without a charge of this payment, the books confirm only that the payment or its change failed.
  if (!isOwn) return claim.outcome === 'succeeded' ? { kind: 'charge_not_shown' } : undefined;
  if (change === undefined) {
    return differs('captured', claim.takenMinor ?? payment.amountMinor, charge.capturedMinor, charge, payment.currency);
  }
  return change.kind === 'refund'
    ? refundDiffers(change, claim.outcome, charge, state)
    : holdDiffers(change, claim.outcome, charge, payment.currency);
}

/** Metadata alone is not enough, because every user of the processor's account can remove it. */
function isShownOf(charge: ProcessorCharge, { payment, strayCharges }: PaymentState): boolean {
  if (isOfAnotherPayment(charge, payment.id)) return false;
  return charge.paymentId === payment.id || isOwnCharge(charge, payment) || strayCharges.has(charge.chargeId);
}

function refundDiffers(
  refund: Refund,
  outcome: Claim['outcome'],
  charge: ProcessorCharge,
  state: PaymentState,
): BooksDifference | undefined {
  const { refundId, amountMinor, currency = state.payment.currency } = refund;
  const refunds = factsOf(charge, state.payment, 0).filter((fact) => fact.kind === 'refund');
  const named = refunds.find((each) => each.refundId === refundId);
  if (outcome === 'failed') {
    // If the decision is that the refund failed, compare only the refund with its operation id. A refund without an
    // operation id is recorded as made by another user of the account, even if it is the one that the decision is
    // about.
    const shownMinor = named === undefined || named.status === 'failed' ? 0 : named.amountMinor;
    return differs('refunded', 0, shownMinor, charge, charge.currency);
  }
  const unknown = refunds.filter((each) => each.status === 'succeeded' && !state.refunds.has(each.refundId));
  // If the metadata of a recorded refund was removed, the books show this refund without an operation id. Skip one such
  // refund for each recorded refund that the books do not show under its own id.
  const taken = missingRefunds(charge, state, 'succeeded').filter((each) => mayBeSameRefund(each, refund));
  const shown = named ?? unknown.filter((each) => mayBeSameRefund(each, refund))[taken.length];
  const shownMinor = shown?.status === 'succeeded' ? shown.amountMinor : 0;
  return differs('refunded', amountMinor, shownMinor, charge, currency);
}

function holdDiffers(
  { kind, amountMinor }: HoldChange,
  outcome: Claim['outcome'],
  charge: ProcessorCharge,
  currency: string,
): BooksDifference | undefined {
  const { capturedMinor, status } = charge;
  const isHeld = status === 'authorized' || status === 'requires_action' || status === 'pending';
  if (kind === 'capture') {
    return outcome === 'succeeded'
      ? differs('captured', amountMinor, capturedMinor, charge, currency)
      : differs('captured', 0, capturedMinor, charge, charge.currency);
  }
  if (outcome === 'failed') return status === 'voided' ? differs('held', amountMinor, 0, charge, currency) : undefined;
  return (
    differs('captured', 0, capturedMinor, charge, charge.currency) ??
    differs('held', 0, isHeld ? charge.amountMinor : 0, charge, charge.currency)
  );
}

function differs(
  what: Extract<BooksDifference, { kind: 'amount_not_shown' }>['what'],
  statedMinor: number,
  shownMinor: number,
  { currency: shownCurrency }: ProcessorCharge,
  currency: string,
): BooksDifference | undefined {
  if (statedMinor === shownMinor && currency === shownCurrency) return undefined;
  return {
    kind: 'amount_not_shown',
    what,
    stated: { amountMinor: statedMinor, currency },
    shown: { amountMinor: shownMinor, currency: shownCurrency },
  };
}
