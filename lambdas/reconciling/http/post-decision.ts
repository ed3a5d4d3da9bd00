import type * as z from 'zod';
import { type Call as CallBy, type Handled, refusal } from '../../http/authenticated-api.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { readJsonObject } from '../../http/json-body.ts';
import { keyedCounts, payloadMismatch, readDryRun, readKeyedRequest, replayed } from '../../http/keyed-request.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { type Parsed, problem, valid } from '../../http/problems.ts';
import type { Answer } from '../../kernel/answer.ts';
import { deriveDecisionId, storedOperationId } from '../../kernel/ids.ts';
import {
  type DecidePayment,
  type DecidePaymentOutcome,
  decidePayment,
  previewDecision,
} from '../../payments/use/decide-payment.ts';
import type { KeyedEffectTools } from '../../payments/use/keyed-effect.ts';
import type { Operator } from '../../tenants/operators.ts';
import { previewHandled } from './dry-run.ts';
import { decisionBody } from './ledger-schemas.ts';

type Call = CallBy<KeyedEffectTools, Operator>;

export const postDecision: OperatorRoute<KeyedEffectTools> = {
  method: 'POST',
  path: '/v1/admin/payments/{id}/resolve',
  role: 'operator',
  handle,
};

async function handle(call: Call): Promise<Handled> {
  const dry = readDryRun(call.request, decisionBody);
  if (dry !== undefined) return preview(call, dry);
  const parsed = readRequest(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, call.request);
  call.seen.operationId = parsed.value.operationId;
  const outcome = await decidePayment(call.tools, parsed.value);
  return {
    answer: outcomeAnswer(outcome, call.request.requestId),
    outcome: outcome.kind,
    counts: keyedCounts(outcome),
  };
}

async function preview({ tools, caller, request, id }: Call, dry: Parsed<Body>): Promise<Handled> {
  if (dry.kind === 'refused') return refusal(dry.problem, request);
  const outcome = await previewDecision(tools, { payment: id, ...requestedDecision(dry.value, caller) });
  if (outcome.kind === 'preview') return previewHandled(outcome);
  return { answer: outcomeAnswer(outcome, request.requestId), outcome: outcome.kind, counts: [] };
}

type Body = z.infer<typeof decisionBody>;

function requestedDecision(
  { outcome, change, charge_id: chargeId, amount: takenMinor, reason }: Body,
  { name: operator }: Operator,
) {
  return {
    outcome,
    ...(change === undefined ? {} : { change: storedOperationId(change) }),
    ...(chargeId === undefined ? {} : { chargeId }),
    ...(takenMinor === undefined ? {} : { takenMinor }),
    reason,
    operator,
  };
}

function readRequest({ tools: { digest }, ...call }: Call): Parsed<DecidePayment> {
  const { caller, request, id } = call;
  const read = readKeyedRequest(digest, request, decisionBody, readJsonObject, ['reason']);
  if (read.kind === 'refused') return read;
  const { key, fingerprint, body } = read.value;
  const path = `/v1/admin/payments/${id}/resolve`;
  return valid({
    cause: causedByOperator(call),
    operationId: deriveDecisionId(digest, { person: caller.person, method: 'POST', path, key }),
    fingerprint,
    payment: id,
    ...requestedDecision(body, caller),
  });
}

function outcomeAnswer(outcome: DecidePaymentOutcome, requestId: string): Answer {
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'not_found':
      return problemAnswer(problem('not_found', 'There is no such payment.'), requestId);
    case 'key_expired': {
      const detail =
        'This Idempotency-Key has recorded a decision, and its answer is no longer stored. Read the payment.';
      return problemAnswer(problem('idempotency_key_expired', detail), requestId, {
        members: { payment_id: outcome.paymentId },
      });
    }
    case 'not_in_review': {
      const detail = `The payment’s status is ${outcome.status}: only a payment that needs review waits for a decision.`;
      return problemAnswer(problem('payment_not_in_review', detail), requestId, {
        members: { payment_status: outcome.status },
      });
    }
    case 'change_not_found': {
      const detail = 'change names no refund, capture or cancellation of this payment.';
      return problemAnswer(problem('invalid_request', detail, 'change'), requestId);
    }
    case 'change_ended': {
      const detail = 'The outcome of the change is known. Read the payment.';
      return problemAnswer(problem('change_not_undecided', detail), requestId);
    }
    case 'change_too_young': {
      const detail = 'The resolver may still determine the outcome of the change. Decide after it could not.';
      return problemAnswer(problem('change_not_undecided', detail), requestId, {
        members: { decidable_from: Math.ceil(outcome.fromMs / 1000) },
      });
    }
    case 'impossible':
      return problemAnswer(
        problem('change_not_undecided', `The decision is impossible: ${outcome.because}.`),
        requestId,
      );
    case 'charge_unnamed': {
      const detail = 'charge_id is missing: it must be the id of the charge at the processor.';
      return problemAnswer(problem('invalid_request', detail, 'charge_id'), requestId);
    }
    case 'amount_unnamed': {
      const detail = 'amount is missing: the captured amount differs from the requested one, and must be given.';
      return problemAnswer(problem('invalid_request', detail, 'amount'), requestId);
    }
  }
}
