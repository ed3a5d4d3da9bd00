import { isOwnRefund, parsePaymentId } from '../../kernel/ids.ts';
import type { CancelReason, Dispute, Refund } from '../../payments/domain/payment.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { ChargeOrder, ChargeOutcome } from '../../payments/use/processor.ts';
import { mismatch } from '../answers.ts';
import { minorAmount, stripeAmount } from './stripe-amounts.ts';
import { failureOf } from './stripe-api.ts';
import type { StripeDispute, StripeIntent, StripeRefund } from './stripe-objects.ts';

/** What an intent and a refund carry so that they and their payment find each other, whoever asks. */
export function stripeMetadata({ paymentId, operationId }: Pick<ChargeOrder, 'paymentId' | 'operationId'>) {
  return { payment: paymentId, operation: operationId };
}

// -------------------------------------------------------------------------------------------------- of the order's own call

/**
 * What the call that made the intent came to, whatever became of it since: one ordered with manual capture was
 * authorized, even if it is captured or canceled by now.
 *
 * @throws AmbiguousError when it is not what was ordered
 */
export function outcomeOf(order: ChargeOrder, intent: StripeIntent): ChargeOutcome {
  mustBeAsOrdered(order, intent);
  const { id: chargeId, status, last_payment_error: lastError } = intent;
  switch (status) {
    case 'requires_payment_method':
      // The attempt failed. Nobody makes another: the intent's secret is given to no one.
      if (lastError === null) throw mismatch('an intent that was confirmed must say why it failed');
      return { kind: 'declined', chargeId, failure: failureOf(lastError) };
    case 'requires_action': {
      const actionUrl = intent.next_action?.redirect_to_url?.url ?? undefined;
      return actionUrl === undefined ? { kind: 'pending', chargeId } : { kind: 'action_required', chargeId, actionUrl };
    }
    case 'processing':
      return { kind: 'pending', chargeId };
    case 'requires_capture':
      if (order.capture !== 'manual') throw mismatch('the money that was ordered was not taken');
      return { kind: 'authorized', chargeId };
    case 'succeeded':
      return order.capture === 'manual' ? { kind: 'authorized', chargeId } : takenOf(intent);
    case 'canceled':
      // It was accepted, and set aside if there is a charge; its callback says the rest.
      return order.capture === 'manual' && intent.latest_charge !== null && lastError === null
        ? { kind: 'authorized', chargeId }
        : { kind: 'pending', chargeId };
    case 'requires_confirmation':
      throw mismatch('the intent was not confirmed');
  }
}

function takenOf(intent: StripeIntent): ChargeOutcome {
  if (intent.amount_received !== intent.amount) throw mismatch('the money that was ordered was not taken');
  const feeMinor = feeOf(intent);
  return { kind: 'succeeded', chargeId: intent.id, ...(feeMinor === undefined ? {} : { feeMinor }) };
}

function mustBeAsOrdered(order: ChargeOrder, intent: StripeIntent): void {
  const ordered = stripeAmount(order.amountMinor, order.currency);
  const asOrdered =
    ordered.kind === 'amount' &&
    intent.amount === ordered.amount &&
    currencyOf(intent) === order.currency &&
    (intent.capture_method === 'manual') === (order.capture === 'manual') &&
    Object.entries(stripeMetadata(order)).every(([name, value]) => intent.metadata[name] === value);
  if (!asOrdered) throw mismatch('the intent is not what was ordered');
}

// ---------------------------------------------------------------------------------------------------------- as it stands now

/** The intent in our words. What its metadata does not say of us, it does not say. */
export function processorCharge(
  intent: StripeIntent,
  refunds: readonly StripeRefund[],
  disputes: readonly StripeDispute[],
): ProcessorCharge {
  const currency = currencyOf(intent);
  const paymentId = parsePaymentId(intent.metadata['payment'] ?? '');
  const operationId = intent.metadata['operation'];
  const feeMinor = feeOf(intent);
  return {
    chargeId: intent.id,
    ...(paymentId === undefined ? {} : { paymentId }),
    ...(operationId === undefined ? {} : { operationId }),
    ...standingOf(intent),
    amountMinor: exactMinor(intent.amount, currency),
    capturedMinor: exactMinor(intent.amount_received, currency),
    currency,
    ...(feeMinor === undefined ? {} : { feeMinor }),
    refunds: namedRefunds(intent, refunds),
    disputes: disputes.flatMap((dispute) => disputeOf(intent, dispute) ?? []),
    createdAtSeconds: intent.created,
  };
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
      // Without an error it was never tried, as one that somebody made by hand.
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

/** Stripe's own reasons for a cancellation are that the authorization ran out; the rest is somebody's wish. */
export function cancelReasonOf(reason: string | null): CancelReason {
  if (reason === 'automatic' || reason === 'expired') return 'expired';
  return reason === 'abandoned' ? 'abandoned' : 'requested';
}

/**
 * Ours go by the operation that made them, so that a refund's own answer and its callbacks tell of one refund. A second
 * one of the same operation keeps Stripe's name: hidden behind the first it would be money that nobody sees.
 */
function namedRefunds(intent: StripeIntent, refunds: readonly StripeRefund[]): readonly Refund[] {
  const taken = new Set<string>();
  return refunds.map((refund) => {
    const operation = refund.metadata?.['operation'];
    const refundId = isOwnRefund(operation) && !taken.has(operation) ? operation : refund.id;
    taken.add(refundId);
    return refundOf(intent.id, refund, refundId);
  });
}

export function refundOf(chargeId: string, refund: StripeRefund, refundId: string): Refund {
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

/** An inquiry (`warning_…`) takes no money back, and neither does a dispute that was prevented. */
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

function disputeOf(intent: StripeIntent, dispute: StripeDispute): Dispute | undefined {
  const status = DISPUTE_STATUS[dispute.status];
  if (status === undefined) return undefined;
  if (dispute.currency !== intent.currency) throw mismatch('a dispute is in another currency than its charge');
  const amountMinor = exactMinor(dispute.amount, currencyOf(intent));
  return { kind: 'dispute', disputeId: dispute.id, chargeId: intent.id, amountMinor, status };
}

/** What Stripe keeps. One in the account's own currency, of a payment in another, is no fee that could be posted beside it. */
export function feeOf({ latest_charge: charge, currency }: StripeIntent): number | undefined {
  if (charge === null || typeof charge === 'string') return undefined;
  const { balance_transaction: booked } = charge;
  if (booked === null || typeof booked === 'string' || booked.currency !== currency) return undefined;
  return minorAmount(booked.fee, currency.toUpperCase());
}

export function currencyOf({ currency }: StripeIntent): string {
  return currency.toUpperCase();
}

export function exactMinor(amount: number, currency: string): number {
  const amountMinor = minorAmount(amount, currency);
  if (amountMinor === undefined) throw mismatch(`an amount in ${currency} is no whole number of minor units`);
  return amountMinor;
}
