import { defined } from '../../kernel/defined.ts';
import type { DisputeFact, RefundFact } from '../../payments/domain/facts.ts';
import { type Fees, sumFees } from '../../payments/domain/fees.ts';
import type { CancelReason, Dispute, Refund } from '../../payments/domain/payment.ts';
import { namedPayment, type ProcessorCharge, refundName } from '../../payments/domain/processor-charge.ts';
import type { ChargeOrder, ChargeOutcome } from '../../payments/use/processor.ts';
import { mismatch } from '../answers.ts';
import { minorAmount, roundedFee, stripeAmount } from './stripe-amounts.ts';
import { failureOf } from './stripe-api.ts';
import type { StripeBalanceTransaction, StripeDispute, StripeIntent, StripeRefund } from './stripe-objects.ts';

export function stripeMetadata({ paymentId, operationId }: Pick<ChargeOrder, 'paymentId' | 'operationId'>) {
  return { payment: paymentId, operation: operationId };
}

// ------------------------------------------------------------------------------------------ outcome of the creating request

/**
 * Returns the outcome of the request that created the intent, regardless of later changes: an intent with manual
 * capture was authorized, even if it has been captured or canceled since.
 *
 * @throws AmbiguousError `processor_answer_mismatch` if the intent differs from the request
 */
export function outcomeOf(order: ChargeOrder, intent: StripeIntent): ChargeOutcome {
  assertAsRequested(order, intent);
  const { id: chargeId, status, last_payment_error: lastError } = intent;
  switch (status) {
    case 'requires_payment_method':
      // The attempt failed. It cannot be retried, because a client would need the intent's client secret, which Payonce
      // does not pass on.
      if (lastError === null) throw mismatch('The confirmed intent failed without an error.');
      return { kind: 'declined', chargeId, failure: failureOf(lastError) };
    case 'requires_action': {
      const actionUrl = intent.next_action?.redirect_to_url?.url ?? undefined;
      return actionUrl === undefined ? { kind: 'pending', chargeId } : { kind: 'action_required', chargeId, actionUrl };
    }
    case 'processing':
      return { kind: 'pending', chargeId };
    case 'requires_capture':
      if (order.capture !== 'manual') throw mismatch('The requested amount was not captured.');
      return { kind: 'authorized', chargeId };
    case 'succeeded':
      return order.capture === 'manual' ? { kind: 'authorized', chargeId } : takenOf(intent);
    case 'canceled':
      // The request was accepted. If the intent has a charge and no error, the hold was authorized and later canceled.
      // A callback reports this cancellation.
      return order.capture === 'manual' && intent.latest_charge !== null && lastError === null
        ? { kind: 'authorized', chargeId }
        : { kind: 'pending', chargeId };
    case 'requires_confirmation':
      throw mismatch('The intent was not confirmed.');
  }
}

function takenOf(intent: StripeIntent): ChargeOutcome {
  if (intent.amount_received !== intent.amount) throw mismatch('The requested amount was not captured.');
  return { kind: 'succeeded', chargeId: intent.id, ...feesOfIntent(intent) };
}

function assertAsRequested(order: ChargeOrder, intent: StripeIntent): void {
  const ordered = stripeAmount(order.amountMinor, order.currency);
  const asOrdered =
    ordered.kind === 'amount' &&
    intent.amount === ordered.amount &&
    currencyOf(intent) === order.currency &&
    (intent.capture_method === 'manual') === (order.capture === 'manual') &&
    Object.entries(stripeMetadata(order)).every(([name, value]) => intent.metadata[name] === value);
  if (!asOrdered) throw mismatch('The intent differs from the request.');
}

// -------------------------------------------------------------------------------------------- current state of the intent

export function processorCharge(
  intent: StripeIntent,
  refunds: readonly StripeRefund[],
  disputes: readonly StripeDispute[],
): ProcessorCharge {
  const currency = currencyOf(intent);
  const paymentId = namedPayment(intent.metadata);
  const operationId = intent.metadata['operation'];
  return {
    chargeId: intent.id,
    ...defined({ paymentId, operationId }),
    ...standingOf(intent),
    amountMinor: exactMinor(intent.amount, currency),
    capturedMinor: exactMinor(intent.amount_received, currency),
    currency,
    ...feesOfIntent(intent, [
      ...refunds.flatMap(bookedOf),
      ...disputes.flatMap((dispute) => dispute.balance_transactions),
    ]),
    refunds: refunds
      .filter((refund) => isOfCaptured(intent, refund))
      .map((refund) => {
        const name = refundName(refund.id, refund.metadata?.['operation']);
        return { ...refundOf(intent.id, refund, name.refundId), ...name };
      }),
    disputes: disputes.flatMap((dispute) => disputeOf(intent, dispute) ?? []),
    createdAtSeconds: intent.created,
  };
}

/**
 * If another client captures a part of a hold or cancels the hold with an API version before 2025-03-31, Stripe creates
 * a refund of the uncaptured money (Stripe changelog, "Partially capturing or canceling payments no longer creates a
 * Refund"; "Reporting categories").
 */
function isOfCaptured(
  { amount_received: captured }: StripeIntent,
  { balance_transaction: booked }: StripeRefund,
): boolean {
  const category = typeof booked === 'object' ? booked?.reporting_category : undefined;
  return captured > 0 && category !== 'partial_capture_reversal';
}

type Standing = Pick<ProcessorCharge, 'status' | 'actionUrl' | 'failure' | 'cancelReason'>;

function standingOf({
  status,
  last_payment_error: lastError,
  next_action,
  cancellation_reason,
}: StripeIntent): Standing {
  switch (status) {
    case 'requires_payment_method':
      // An intent without an error was never confirmed, for example because it was created in the Stripe dashboard.
      return lastError === null ? { status: 'pending' } : { status: 'declined', failure: failureOf(lastError) };
    case 'requires_action': {
      const actionUrl = next_action?.redirect_to_url?.url ?? undefined;
      return actionUrl === undefined ? { status: 'pending' } : { status: 'requires_action', actionUrl };
    }
    case 'requires_confirmation':
    case 'processing':
      return { status: 'pending' };
    case 'requires_capture':
      return { status: 'authorized' };
    case 'succeeded':
      return { status: 'succeeded' };
    case 'canceled':
      return { status: 'voided', cancelReason: cancelReasonOf(cancellation_reason) };
  }
}

/** Stripe gives the reasons `automatic` and `expired` when it cancels an expired hold itself. */
export function cancelReasonOf(reason: string | null): CancelReason {
  if (reason === 'automatic' || reason === 'expired') return 'expired';
  return reason === 'abandoned' ? 'abandoned' : 'requested';
}

export function refundOf(chargeId: string, refund: StripeRefund, refundId: string): RefundFact {
  const { status, failure_reason: reason } = refund;
  return {
    kind: 'refund',
    refundId,
    chargeId,
    amountMinor: exactMinor(refund.amount, refund.currency.toUpperCase()),
    status: REFUND_STATUS[status],
    ...(REFUND_STATUS[status] === 'failed'
      ? { failure: failureOf({ code: reason ?? `refund_${status}`, message: 'The refund did not reach the payer.' }) }
      : {}),
  };
}

const REFUND_STATUS: Readonly<Record<StripeRefund['status'], Refund['status']>> = {
  pending: 'pending',
  requires_action: 'pending',
  succeeded: 'succeeded',
  failed: 'failed',
  canceled: 'failed',
};

/**
 * The dispute status for each of Stripe's statuses. Undefined for an inquiry (`warning_…`) and for a prevented dispute,
 * because they take back no money.
 */
const DISPUTE_STATUS: Readonly<Record<StripeDispute['status'], Dispute['status'] | undefined>> = {
  warning_needs_response: undefined,
  warning_under_review: undefined,
  warning_closed: undefined,
  prevented: undefined,
  needs_response: 'open',
  under_review: 'open',
  appeal_needs_response: 'open',
  appeal_under_review: 'open',
  won: 'won',
  lost: 'lost',
};

function disputeOf(intent: StripeIntent, dispute: StripeDispute): DisputeFact | undefined {
  const status = DISPUTE_STATUS[dispute.status];
  if (status === undefined) return undefined;
  if (dispute.currency !== intent.currency) throw mismatch('The dispute has a different currency than its charge.');
  const amountMinor = exactMinor(dispute.amount, currencyOf(intent));
  return { kind: 'dispute', disputeId: dispute.id, chargeId: intent.id, amountMinor, status };
}

/**
 * Returns Stripe's fees for the charge, and for all of its refunds and disputes, whatever their status is. Each fee is
 * in its settlement currency. The result is empty if the intent has no charge, or the charge's balance transaction is
 * not expanded: the fees are then unknown.
 *
 * @param parts the balance transactions of refunds and disputes
 */
export function feesOfIntent(intent: StripeIntent, parts: readonly StripeBalanceTransaction[] = []): Fees {
  const { latest_charge: charge } = intent;
  if (charge === null || typeof charge === 'string' || typeof charge.balance_transaction === 'string') return {};
  const booked = [charge.balance_transaction ?? [], parts].flat();
  // Round the sum and not each fee, so that a fee and its reversal sum to zero.
  const fees = [...Map.groupBy(booked, ({ currency }) => currency.toUpperCase())].map(([currency, each]) => {
    const sum = each.reduce((total, { fee }) => total + fee, 0);
    return { amountMinor: exactMinor(roundedFee(sum, currency), currency), currency };
  });
  return sumFees(fees, currencyOf(intent));
}

function bookedOf(refund: StripeRefund): readonly StripeBalanceTransaction[] {
  return [refund.balance_transaction, refund.failure_balance_transaction].filter(
    (each) => typeof each === 'object' && each !== null,
  );
}

export function currencyOf({ currency }: StripeIntent): string {
  return currency.toUpperCase();
}

export function exactMinor(amount: number, currency: string): number {
  const amountMinor = minorAmount(amount, currency);
  if (amountMinor === undefined) throw mismatch(`An amount in ${currency} is not a whole number of minor units.`);
  return amountMinor;
}
