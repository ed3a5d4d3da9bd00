import { RetryableError } from '../../kernel/faults.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import type { Fact } from '../../payments/domain/facts.ts';
import type { ChangeOrder, ChangeOutcome } from '../../payments/use/processor.ts';
import { chargeUnknown, mismatch, parse, sanitizedFailure, statusFault } from '../answers.ts';
import { errorAnswer } from './sandbox-answers.ts';
import type { Charge, Refund } from './sandbox-api.ts';
import { chargeAnswer, feesOfCharge, refundAnswer } from './sandbox-charge.ts';

/** The path is relative to the path of the charge. */
export function changeRequest({ change, paymentId, operationId }: ChangeOrder): { path: string; body: object } {
  switch (change.kind) {
    case 'capture':
      return { path: 'capture', body: { amount: change.amountMinor } };
    case 'void':
      return { path: 'void', body: {} };
    case 'refund':
      return {
        path: 'refunds',
        body: { amount: change.amountMinor, metadata: { payment: paymentId, operation: operationId } },
      };
  }
}

export function readChangeAnswer(order: ChangeOrder, answer: HttpAnswer, nowMs: number): ChangeOutcome {
  switch (answer.status) {
    case order.change.kind === 'refund' ? 201 : 200:
      return { kind: 'applied', facts: [appliedFact(order, answer)] };
    case 400:
    case 402:
    case 422: {
      const { code, message } = parse(errorAnswer, answer).error;
      // A request with this key was sent before. Only a look-up can determine the outcome of that request.
      if (code === 'idempotency_key_mismatch') throw mismatch('The key was used with a different body.');
      return { kind: 'refused', failure: sanitizedFailure({ code, message }) };
    }
    case 404:
      // An unreadable 404 may come from a proxy or gateway instead of the processor.
      parse(errorAnswer, answer);
      throw chargeUnknown();
    case 409: {
      if (parse(errorAnswer, answer).error.code !== 'busy') throw statusFault(answer, nowMs);
      throw new RetryableError(
        'processor_busy',
        'Another request is changing the charge; this change was not applied.',
      );
    }
    default:
      throw statusFault(answer, nowMs);
  }
}

/** @throws the fault of `statusFault` for every status but 200; a 404 does not prove that the change is absent */
export function readChangeLookup(
  order: ChangeOrder,
  answer: HttpAnswer,
  nowMs: number,
): ChangeOutcome | { readonly kind: 'absent' } {
  if (answer.status !== 200) throw statusFault(answer, nowMs);
  const charge = parse(chargeAnswer, answer);
  assertSameCharge(order, charge);
  const fact = factOfChange(order, charge);
  return fact === undefined ? { kind: 'absent' } : { kind: 'applied', facts: [fact] };
}

function appliedFact(order: ChangeOrder, answer: HttpAnswer): Fact {
  if (order.change.kind === 'refund') return refundFact(order, parse(refundAnswer, answer));
  const charge = parse(chargeAnswer, answer);
  assertSameCharge(order, charge);
  const fact = factOfChange(order, charge);
  if (fact === undefined) throw mismatch('The requested change was not made.');
  if (order.change.kind === 'capture' && charge.amount_captured !== order.change.amountMinor) {
    throw mismatch('The captured amount differs from the request.');
  }
  return fact;
}

/** A capture or a void is found even if another client requested it. */
function factOfChange(order: ChangeOrder, charge: Charge): Fact | undefined {
  const { id: chargeId, status, amount_captured: capturedMinor } = charge;
  switch (order.change.kind) {
    case 'capture':
      return status === 'succeeded'
        ? { kind: 'succeeded', chargeId, capturedMinor, ...feesOfCharge(charge) }
        : undefined;
    case 'void':
      return status === 'voided' ? { kind: 'voided', chargeId, reason: charge.void_reason ?? 'requested' } : undefined;
    case 'refund': {
      const [made, ...more] = charge.refunds.filter(({ metadata }) => metadata['operation'] === order.operationId);
      // An operator must handle two refunds under one key: selecting one refund would hide the other.
      if (more.length > 0) throw mismatch(`The charge has ${more.length + 1} refunds for one operation.`);
      return made && refundFact(order, made);
    }
  }
}

function refundFact({ operationId, chargeId, change }: ChangeOrder, refund: Refund): Fact {
  const { charge, amount: amountMinor, status, metadata } = refund;
  const asAsked =
    charge === chargeId &&
    metadata['operation'] === operationId &&
    change.kind === 'refund' &&
    change.amountMinor === amountMinor;
  if (!asAsked) throw mismatch('The refund differs from the request.');
  return { kind: 'refund', refundId: operationId, chargeId, amountMinor, status };
}

function assertSameCharge(order: ChangeOrder, charge: Charge): void {
  if (charge.id !== order.chargeId || charge.currency !== order.currency)
    throw mismatch('The response describes a charge that was not requested.');
}
