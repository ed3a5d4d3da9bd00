import * as z from 'zod';
import type { Charge } from '../../kernel/contract/sandbox-api.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import type { ChargeOrder, ChargeOutcome } from '../../payments/use/processor.ts';
import { mismatch, parse, presentable, statusFault } from '../answers.ts';
import { chargeAnswer, listAnswer } from './sandbox-charge.ts';

export const errorAnswer = z.object({
  error: z.object({ code: z.string().min(1), message: z.string(), charge: z.string().min(1).optional() }),
});

/** What a charge carries so that it and its payment find each other, whoever asks. */
export function chargeMetadata(order: ChargeOrder): Readonly<Record<string, string>> {
  return { payment: order.paymentId, operation: order.operationId };
}

/**
 * The answer to a send.
 *
 * | status                          | meaning                                                             |
 * |---------------------------------|---------------------------------------------------------------------|
 * | 201 with the charge ordered     | succeeded, or authorized                                            |
 * | 402, readable                   | declined                                                            |
 * | 400, 404, 422, readable         | rejected, save the 422 that says that the key has another body      |
 * | 401, 403                        | RetryableError `processor_unauthorized`                             |
 * | 429                             | RetryableError `processor_rate_limited`                             |
 * | 5xx                             | AmbiguousError `processor_error`                                    |
 * | 409                             | AmbiguousError `processor_conflict`                                 |
 * | 2xx or 4xx that cannot be read  | AmbiguousError `processor_answer_unreadable`                        |
 * | 201 with another charge         | AmbiguousError `processor_answer_mismatch`                          |
 * | everything else                 | AmbiguousError `processor_answer_unexpected`                        |
 */
export function readChargeAnswer(order: ChargeOrder, answer: HttpAnswer, nowMs: number): ChargeOutcome {
  switch (answer.status) {
    case 201: {
      const charge = parse(chargeAnswer, answer);
      const outcome = outcomeOf(order, charge);
      if (outcome.kind === 'declined') throw mismatch('a charge answered 201 cannot be declined');
      return outcome;
    }
    case 402: {
      const { charge, ...failure } = parse(errorAnswer, answer).error;
      return { kind: 'declined', failure: presentable(failure), ...(charge === undefined ? {} : { chargeId: charge }) };
    }
    case 400:
    case 404:
    case 422: {
      const { code, message } = parse(errorAnswer, answer).error;
      // Something was sent under this key before: what became of it must be looked up.
      if (code === 'idempotency_key_mismatch') throw mismatch('the key is known with another body');
      return { kind: 'rejected', failure: presentable({ code, message }) };
    }
    default:
      throw statusFault(answer, nowMs);
  }
}

/** The answer to a look-up by key. @throws as `readChargeAnswer` does, for every status but 200 */
export function readLookupAnswer(
  order: ChargeOrder,
  answer: HttpAnswer,
  nowMs: number,
): ChargeOutcome | { readonly kind: 'absent' } {
  if (answer.status !== 200) throw statusFault(answer, nowMs);
  const { data } = parse(listAnswer, answer);
  const [charge] = data;
  if (charge === undefined) return { kind: 'absent' };
  // A key that made two charges is for a person to look at; choosing one would hide the other.
  if (data.length > 1) throw mismatch(`the key made ${data.length} charges`);
  return outcomeOf(order, charge);
}

/** The answer to the health probe. */
export function readHealthAnswer(answer: HttpAnswer, nowMs: number): void {
  if (answer.status !== 200) throw statusFault(answer, nowMs);
}

/**
 * What the call that made the charge came to, whatever became of the charge since: one ordered with manual capture was
 * authorized, even if it is captured or voided by now.
 */
function outcomeOf(order: ChargeOrder, charge: Charge): ChargeOutcome {
  const metadata = chargeMetadata(order);
  const asOrdered =
    charge.amount === order.amountMinor &&
    charge.currency === order.currency &&
    charge.capture === order.capture &&
    Object.entries(metadata).every(([name, value]) => charge.metadata[name] === value);
  if (!asOrdered) throw mismatch('the charge is not what was ordered');
  if (charge.status === 'declined') {
    if (charge.failure === null) throw mismatch('a declined charge must say why');
    return { kind: 'declined', chargeId: charge.id, failure: presentable(charge.failure) };
  }
  if (charge.failure !== null) throw mismatch('a charge that was accepted cannot say why it was not');
  return acceptedOutcome(order, charge);
}

function acceptedOutcome(order: ChargeOrder, charge: Charge): ChargeOutcome {
  const { id: chargeId, status, action_url: actionUrl } = charge;
  // Voided before the payer had answered: it was accepted, nothing was set aside, and its callback says the rest.
  const unanswered = status === 'voided' && (order.capture === 'automatic' || charge.void_reason === 'abandoned');
  if (status === 'pending' || unanswered) return { kind: 'pending', chargeId };
  if (status === 'requires_action') {
    if (actionUrl === null) throw mismatch('an action that is required must have its address');
    return { kind: 'action_required', chargeId, actionUrl };
  }
  if (order.capture === 'manual') return { kind: 'authorized', chargeId };
  const taken = status === 'succeeded' && charge.amount_captured === order.amountMinor;
  if (!taken) throw mismatch('the money that was ordered was not taken');
  return charge.fee === null ? { kind: 'succeeded', chargeId } : { kind: 'succeeded', chargeId, feeMinor: charge.fee };
}
