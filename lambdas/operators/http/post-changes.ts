import * as z from 'zod';
import { type Handled, refusal } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed, type OperatorEndpoint } from '../../http/endpoint.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { defined } from '../../kernel/defined.ts';
import type { RunNotes } from '../../once/use/execute-once.ts';
import { CHANGE_PROBLEMS, changeOutcomeAnswer } from '../../payments/http/change-outcome-answer.ts';
import { paymentPath } from '../../payments/http/payment-answers.ts';
import { payment, refund } from '../../payments/http/payment-objects.ts';
import { runCounts } from '../../payments/http/run-counts.ts';
import { type ChangeKind, parsePaymentId } from '../../payments/ids.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveChangeRequestId, deriveOperatorChangeId } from '../ids.ts';
import { changeByOperator, type OperatorChangeTools } from '../use/change-by-operator.ts';
import { approval, NEEDS_APPROVAL } from './answer-schemas.ts';
import { operatorCancelBody, operatorCaptureBody, operatorRefundBody } from './ledger-schemas.ts';

const CALL_PROBLEMS = ['idempotency_key_in_progress', 'processor_unavailable'] as const;

const PATHS: Readonly<Record<ChangeKind, string>> = {
  refund: '/v1/admin/payments/{id}/refunds',
  capture: '/v1/admin/payments/{id}/capture',
  cancel: '/v1/admin/payments/{id}/cancel',
};

const UNKNOWN = 'The outcome is not known yet, or ';
const waits = (schema: z.ZodObject, id: string) => ({
  description: `${UNKNOWN}${NEEDS_APPROVAL.slice(0, 1).toLowerCase()}${NEEDS_APPROVAL.slice(1)}`,
  schema: z.discriminatedUnion('object', [schema, approval]).meta({ id }),
});
const LIKE_TENANTS =
  'Works like the same request from a tenant, but under the operator’s key, name and reason, and with an entry in the activity log.';

const postRefund = keyed({
  path: PATHS.refund,
  role: 'operator',
  body: operatorRefundBody,
  handle: (call: KeyedCall<OperatorChangeTools, typeof operatorRefundBody, Operator>) => change('refund', call),
  docs: {
    operationId: 'refundForTenant',
    tag: 'Operators',
    summary: 'Refund a payment of a tenant',
    description: `Refunds the remaining amount or a part of it. ${LIKE_TENANTS} The sum of a payment’s refunds by operators is compared with the limit.`,
    path: paymentPath,
    key: ['refund', 'no amount is refunded twice'],
    located: true,
    requests: { part: { summary: 'A part', value: { amount: 300, reason: 'Asked by phone' } } },
    answers: {
      201: { description: 'The amount was refunded.', schema: refund },
      202: waits(refund, 'OperatorRefunded'),
    },
    problems: [...CHANGE_PROBLEMS.refund, ...CALL_PROBLEMS],
  },
});

const postCapture = keyed({
  path: PATHS.capture,
  role: 'operator',
  body: operatorCaptureBody,
  handle: (call: KeyedCall<OperatorChangeTools, typeof operatorCaptureBody, Operator>) => change('capture', call),
  docs: {
    operationId: 'captureForTenant',
    tag: 'Operators',
    summary: 'Capture a payment of a tenant',
    description: `Captures the authorized amount or a part of it, once. The rest is released. ${LIKE_TENANTS}`,
    path: paymentPath,
    key: ['capture', 'no amount is captured twice'],
    located: true,
    requests: { part: { summary: 'A part', value: { amount: 300, reason: 'Asked by phone' } } },
    answers: {
      200: { description: 'The amount was captured.', schema: payment },
      202: waits(payment, 'OperatorCaptured'),
    },
    problems: [...CHANGE_PROBLEMS.capture, ...CALL_PROBLEMS],
  },
});

const postCancel = keyed({
  path: PATHS.cancel,
  role: 'operator',
  body: operatorCancelBody,
  handle: (call: KeyedCall<OperatorChangeTools, typeof operatorCancelBody, Operator>) => change('cancel', call),
  docs: {
    operationId: 'cancelForTenant',
    tag: 'Operators',
    summary: 'Cancel a payment of a tenant',
    description: `Releases the authorization, or ends a payment that waits for its payer. ${LIKE_TENANTS}`,
    path: paymentPath,
    key: ['cancellation', 'the payment is canceled once'],
    located: true,
    requests: { all: { summary: 'The whole authorization', value: { reason: 'Asked by phone' } } },
    answers: {
      200: { description: 'The payment was canceled.', schema: payment },
      202: waits(payment, 'OperatorCanceled'),
    },
    problems: [...CHANGE_PROBLEMS.cancel, ...CALL_PROBLEMS],
  },
});

export const CHANGE_ROUTES: readonly OperatorEndpoint<OperatorChangeTools>[] = [postRefund, postCapture, postCancel];

type ChangeCall = KeyedCall<
  OperatorChangeTools,
  z.ZodType<{ readonly reason: string; readonly amount?: number | undefined }>,
  Operator
>;

async function change(kind: ChangeKind, call: ChangeCall): Promise<Handled> {
  const { caller, request, receivedAtMs, key, fingerprint, body, logFields } = call;
  const tools = { ...call.tools, alarm: logFields.alarm };
  const paymentId = parsePaymentId(call.id);
  if (paymentId === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  const scope = { person: caller.person, method: 'POST', path: PATHS[kind].replace('{id}', paymentId), key };
  const operationId = deriveOperatorChangeId(tools.digest, kind, paymentId, scope);
  logFields.operationId = operationId;
  const asked = {
    kind,
    operationId,
    requestId: deriveChangeRequestId(tools.digest, scope),
    paymentId,
    fingerprint,
    reason: body.reason,
    by: caller,
    cause: causedByOperator(call),
    receivedAtMs,
    ...defined({ amountMinor: body.amount }),
  };
  const notes: RunNotes = { takenOver: false, fenced: false };
  const outcome = await changeByOperator(tools, asked, notes);
  return {
    answer: changeOutcomeAnswer(kind, outcome, request.requestId),
    outcome: outcome.kind === 'refused' ? outcome.refusal.kind : outcome.kind,
    counts: runCounts(outcome, notes),
  };
}
