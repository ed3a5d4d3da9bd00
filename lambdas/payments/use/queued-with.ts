import { defined } from '../../kernel/defined.ts';
import { type PaymentId, storedOperationId } from '../../kernel/ids.ts';
import { moneyOf } from '../domain/charge-money.ts';
import { CHARGE_VANISHED, type Payment } from '../domain/payment.ts';
import { stateAfter } from '../domain/payment-state.ts';
import { detailsOf, type Transition } from '../domain/transition.ts';
import { chargeOperation, isRefundOf, isReturn } from '../ids.ts';
import type { Effect } from './effect-store.ts';
import type { PaymentChain } from './payment-chain.ts';
import type { ChargeToReturn, Hold, Inquiry, OpenOrder } from './payment-store.ts';

type Before = Pick<PaymentChain, 'first' | 'transitions' | 'state'>;

/**
 * Every writer must write the entries in the same transaction as the transitions, so that a job finds all work that the
 * transitions leave unfinished.
 */
export function queueEntriesFor(
  before: Before,
  transitions: readonly Transition[],
): Pick<Effect, 'hold' | 'reopened'> & Required<Pick<Effect, 'toReturn' | 'inquiries'>> {
  const reopened = orderToReopen(before, transitions);
  return {
    toReturn: chargesToReturn(before, transitions),
    inquiries: undecidedAtBank(before, transitions),
    ...holdEntryFor(transitions),
    ...defined({ reopened }),
  };
}

/**
 * Returns one queue entry for each stray charge in these transitions that has money or a hold to return. This is the
 * case after the charge is found, after its refund fails, and after its dispute is won.
 */
export function chargesToReturn(before: Before, transitions: readonly Transition[]): readonly ChargeToReturn[] {
  const newest = transitions.at(-1);
  if (newest === undefined) return [];
  const concerned = transitions.flatMap(({ subject }) =>
    subject !== undefined && 'chargeId' in subject ? [subject.chargeId] : [],
  );
  if (concerned.length === 0) return [];
  const state = stateAfter([...before.transitions, ...transitions]);
  return [...new Set(concerned)].flatMap((chargeId): readonly ChargeToReturn[] => {
    const stray = state.strayCharges.get(chargeId);
    if (stray === undefined) return [];
    const entry = { paymentId: newest.payment.id, chargeId, foundAtMs: newest.occurredAtMs };
    if (stray.status === 'authorized') return [{ ...entry, by: 'void' }];
    return (moneyOf(chargeId, state)?.leftMinor ?? 0) > 0 ? [{ ...entry, by: 'refund' }] : [];
  });
}

/**
 * Returns inquiries for new refunds and disputes that began at the processor, and for a charge that the processor no
 * longer knows. A callback usually reports their result. If the callback is lost, the inquiry reads the charge instead.
 * Two groups of refunds are excluded: Payonce's own refunds, which are recorded before they are sent, and refunds of
 * stray charges, which have a separate queue. Metadata alone does not prove that a refund belongs to either group.
 */
function undecidedAtBank(before: Before, transitions: readonly Transition[]): readonly Inquiry[] {
  const { refunds, strayCharges } = before.state;
  const newest = transitions.at(-1);
  if (newest === undefined) return [];
  const { id } = newest.payment;
  const isOfReturn = (refundId: string) => isReturn(refundId) && isRefundOf(refundId, id);
  const charges = transitions.flatMap(({ type, payment, subject }): readonly string[] => {
    if (type === 'payment.review_required') return vanishedCharge(payment);
    if (subject?.kind === 'dispute' && subject.status === 'open') return [subject.chargeId];
    const isForeign =
      subject?.kind === 'refund' &&
      subject.status === 'pending' &&
      !refunds.has(subject.refundId) &&
      !(isOfReturn(subject.refundId) && strayCharges.has(subject.chargeId));
    return isForeign ? [subject.chargeId] : [];
  });
  return [...new Set(charges)].map((chargeId) => inquiryForCharge(id, chargeId, newest.occurredAtMs));
}

/** The processor may know the charge again later. */
export function vanishedCharge({ status, failure, chargeId }: Payment): readonly string[] {
  const isVanished = status === 'needs_review' && failure?.code === CHARGE_VANISHED;
  return isVanished && chargeId !== undefined ? [chargeId] : [];
}

export function booksInquiry(paymentId: PaymentId, claimedAtMs: number): Inquiry {
  return { operationId: chargeOperation(paymentId), paymentId, claimedAtMs, waitsFor: 'books' };
}

/** Creates the inquiry that reads a charge until the charge, its refunds and its disputes have a result. */
export function inquiryForCharge(paymentId: PaymentId, chargeId: string, claimedAtMs: number): Inquiry {
  return { operationId: storedOperationId(chargeId), paymentId, claimedAtMs, waitsFor: 'bank' };
}

/** A job later voids the hold if it is still uncaptured. */
export function holdEntryFor(transitions: readonly Transition[]): { readonly hold?: Hold } {
  const authorized = transitions.find(({ type }) => type === 'payment.authorized');
  if (authorized === undefined) return {};
  return { hold: { paymentId: authorized.payment.id, authorizedAtMs: authorized.occurredAtMs } };
}

/**
 * An order is reopened for two reasons. First, an order was canceled because of a refund or dispute, but the merchant
 * has the money again: a bank can reject a refund days later, and a dispute can be won. Second, the payment's review
 * has ended, and the resolver may have stopped processing the order during the review.
 */
function orderToReopen({ first, state }: Before, transitions: readonly Transition[]): OpenOrder | undefined {
  const { orderId } = detailsOf(first);
  if (orderId === undefined) return undefined;
  const changed = transitions.findLast(
    (each, index) => isMoneyBack(each) || endsReview(transitions[index - 1]?.payment ?? state.payment, each),
  );
  if (changed === undefined) return undefined;
  // A time, unlike a sequence number, never equals the value in an older entry. Therefore, a worker that has read an
  // older entry cannot delete this one.
  return { orderId, createdAtMs: changed.occurredAtMs, sequence: changed.occurredAtMs };
}

function isMoneyBack({ type, subject }: Transition): boolean {
  return type === 'refund.failed' || (subject?.kind === 'dispute' && subject.status === 'won');
}

function endsReview({ status }: Pick<Payment, 'status'>, { payment }: Transition): boolean {
  return status === 'needs_review' && payment.status !== 'needs_review';
}
