import type { Charge, Refund } from '../../kernel/contract/sandbox-api.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import type { Fact } from '../../payments/domain/facts.ts';
import type { ChangeOrder, ChangeOutcome } from '../../payments/use/processor.ts';
import { chargeUnknown, mismatch, parse, presentable, statusFault } from '../answers.ts';
import { errorAnswer } from './sandbox-answers.ts';
import { chargeAnswer, refundAnswer } from './sandbox-charge.ts';

/** What is posted under a charge's own path. */
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

/**
 * The answer to a send.
 *
 * | status                                | meaning                                                           |
 * |---------------------------------------|-------------------------------------------------------------------|
 * | 200, of a refund 201, as asked        | applied                                                           |
 * | 400, 402, 422, readable               | refused, save the 422 that says that the key has another body     |
 * | 404, readable                         | RetryableError `processor_charge_unknown`: a wrong key            |
 * | 409 `busy`                            | RetryableError `processor_busy`: rivals were faster each time     |
 * | an answer to something else           | AmbiguousError `processor_answer_mismatch`                        |
 * | everything else                       | as for a charge                                                   |
 */
export function readChangeAnswer(order: ChangeOrder, answer: HttpAnswer, nowMs: number): ChangeOutcome {
  switch (answer.status) {
    case order.change.kind === 'refund' ? 201 : 200:
      return { kind: 'applied', facts: [appliedFact(order, answer)] };
    case 400:
    case 402:
    case 422: {
      const { code, message } = parse(errorAnswer, answer).error;
      // Something was sent under this key before: what became of it must be looked up.
      if (code === 'idempotency_key_mismatch') throw mismatch('the key is known with another body');
      return { kind: 'refused', failure: presentable({ code, message }) };
    }
    case 404:
      // Only a readable 404 is the processor’s own.
      parse(errorAnswer, answer);
      throw chargeUnknown();
    case 409: {
      if (parse(errorAnswer, answer).error.code !== 'busy') throw statusFault(answer, nowMs);
      throw new RetryableError('processor_busy', 'Others are changing the charge; nothing was done.');
    }
    default:
      throw statusFault(answer, nowMs);
  }
}

/** The answer to a look at the charge. @throws as `readChangeAnswer` does, for every status but 200: a charge that is not found proves nothing */
export function readChangeLookup(
  order: ChangeOrder,
  answer: HttpAnswer,
  nowMs: number,
): ChangeOutcome | { readonly kind: 'absent' } {
  if (answer.status !== 200) throw statusFault(answer, nowMs);
  const charge = parse(chargeAnswer, answer);
  mustBeTheCharge(order, charge);
  const fact = factOfChange(order, charge);
  return fact === undefined ? { kind: 'absent' } : { kind: 'applied', facts: [fact] };
}

function appliedFact(order: ChangeOrder, answer: HttpAnswer): Fact {
  if (order.change.kind === 'refund') return refundFact(order, parse(refundAnswer, answer));
  const charge = parse(chargeAnswer, answer);
  mustBeTheCharge(order, charge);
  const fact = factOfChange(order, charge);
  if (fact === undefined) throw mismatch('what was asked for was not done');
  if (order.change.kind === 'capture' && charge.amount_captured !== order.change.amountMinor) {
    throw mismatch('the captured amount is not what was asked for');
  }
  return fact;
}

/** The change as the charge shows it, whoever asked for it; undefined when it is not there. */
function factOfChange(order: ChangeOrder, charge: Charge): Fact | undefined {
  const { id: chargeId, status, amount_captured: capturedMinor, fee: feeMinor } = charge;
  switch (order.change.kind) {
    case 'capture': {
      if (status !== 'succeeded') return undefined;
      const succeeded = { kind: 'succeeded' as const, chargeId, capturedMinor };
      return feeMinor === null ? succeeded : { ...succeeded, feeMinor };
    }
    case 'void':
      return status === 'voided' ? { kind: 'voided', chargeId, reason: charge.void_reason ?? 'requested' } : undefined;
    case 'refund': {
      const [made, ...more] = charge.refunds.filter(({ metadata }) => metadata['operation'] === order.operationId);
      // A key that made two refunds is for a person to look at; choosing one would hide the other.
      if (more.length > 0) throw mismatch(`the key made ${more.length + 1} refunds`);
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
  if (!asAsked) throw mismatch('the refund is not what was asked for');
  return { kind: 'refund', refundId: operationId, chargeId, amountMinor, status };
}

function mustBeTheCharge(order: ChangeOrder, charge: Charge): void {
  if (charge.id !== order.chargeId || charge.currency !== order.currency) throw mismatch('it is another charge');
}
