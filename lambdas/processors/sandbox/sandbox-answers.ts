import * as z from 'zod';
import { defined } from '../../kernel/defined.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import type { ChargeOrder, ChargeOutcome } from '../../payments/use/processor.ts';
import { mismatch, parse, sanitizedFailure, statusFault } from '../answers.ts';
import type { Charge } from './sandbox-api.ts';
import { chargeAnswer, feesOfCharge, listAnswer } from './sandbox-charge.ts';

export const errorAnswer = z.lazy(() =>
  z.object({
    error: z.object({ code: z.string().min(1), message: z.string(), charge: z.string().min(1).optional() }),
  }),
);

export function chargeMetadata(order: ChargeOrder): Readonly<Record<string, string>> {
  return { payment: order.paymentId, operation: order.operationId };
}

export function readChargeAnswer(order: ChargeOrder, answer: HttpAnswer, nowMs: number): ChargeOutcome {
  switch (answer.status) {
    case 201: {
      const charge = parse(chargeAnswer, answer);
      const outcome = outcomeOf(order, charge);
      if (outcome.kind === 'declined') throw mismatch('The processor responded with 201 and a declined charge.');
      return outcome;
    }
    case 402: {
      const { charge, ...failure } = parse(errorAnswer, answer).error;
      return { kind: 'declined', failure: sanitizedFailure(failure), ...defined({ chargeId: charge }) };
    }
    case 400:
    case 404:
    case 422: {
      const { code, message } = parse(errorAnswer, answer).error;
      // A request with this key was sent before. Only a look-up can determine the outcome of that request.
      if (code === 'idempotency_key_mismatch') throw mismatch('The key was used with a different body.');
      return { kind: 'rejected', failure: sanitizedFailure({ code, message }) };
    }
    default:
      throw statusFault(answer, nowMs);
  }
}

export function readLookupAnswer(
  order: ChargeOrder,
  answer: HttpAnswer,
  nowMs: number,
): ChargeOutcome | { readonly kind: 'absent' } {
  if (answer.status !== 200) throw statusFault(answer, nowMs);
  const { data } = parse(listAnswer, answer);
  const [charge] = data;
  if (charge === undefined) return { kind: 'absent' };
  // An operator must handle two charges under one key: selecting one charge would hide the other.
  if (data.length > 1) throw mismatch(`The processor has ${data.length} charges for one operation.`);
  return outcomeOf(order, charge);
}

export function readHealthAnswer(answer: HttpAnswer, nowMs: number): void {
  if (answer.status !== 200) throw statusFault(answer, nowMs);
}

/**
 * Returns the outcome of the request that created the charge, regardless of later changes. For example, a charge with
 * manual capture was authorized, even if it has been captured or voided since.
 */
function outcomeOf(order: ChargeOrder, charge: Charge): ChargeOutcome {
  const metadata = chargeMetadata(order);
  const asOrdered =
    charge.amount === order.amountMinor &&
    charge.currency === order.currency &&
    charge.capture === order.capture &&
    Object.entries(metadata).every(([name, value]) => charge.metadata[name] === value);
  if (!asOrdered) throw mismatch('The charge differs from the request.');
  if (charge.status === 'declined') {
    if (charge.failure === null) throw mismatch('The declined charge has no failure.');
    return { kind: 'declined', chargeId: charge.id, failure: sanitizedFailure(charge.failure) };
  }
  if (charge.failure !== null) throw mismatch('The accepted charge has a failure.');
  return acceptedOutcome(order, charge);
}

function acceptedOutcome(order: ChargeOrder, charge: Charge): ChargeOutcome {
  const { id: chargeId, status, action_url: actionUrl } = charge;
  // The charge was voided before the payer approved it. The request was accepted, but nothing was authorized. A
  // callback reports the void.
  const unanswered = status === 'voided' && (order.capture === 'automatic' || charge.void_reason === 'abandoned');
  if (status === 'pending' || unanswered) return { kind: 'pending', chargeId };
  if (status === 'requires_action') {
    if (actionUrl === null) throw mismatch('The charge requires an action of the payer, but has no action URL.');
    return { kind: 'action_required', chargeId, actionUrl };
  }
  if (order.capture === 'manual') return { kind: 'authorized', chargeId };
  const taken = status === 'succeeded' && charge.amount_captured === order.amountMinor;
  if (!taken) throw mismatch('The requested amount was not captured.');
  return { kind: 'succeeded', chargeId, ...feesOfCharge(charge) };
}
