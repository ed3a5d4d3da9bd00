import { type Answer, JSON_TYPE, PROBLEM_TYPE, type Problem, problemBody } from '../../kernel/answer.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { partId } from '../ids.ts';
import { changeOf, isUnderWay } from './change.ts';
import { reasonFields, shownReason } from './given-reason.ts';
import type { Failure, HoldChange, OperatorRequest, Payment, Refund } from './payment.ts';
import { NOT_ATTEMPTED, paymentObject } from './payment.ts';
import type { PaymentState } from './payment-state.ts';
import { type FirstDetails, personalFields } from './transition.ts';

export function refundObject(refund: Refund, payment: Payment): Record<string, unknown> {
  return {
    id: partId('refund', payment.id, refund.refundId),
    object: 'refund',
    payment: payment.id,
    charge_id: refund.chargeId,
    amount: refund.amountMinor,
    currency: refund.currency ?? payment.currency,
    status: refund.status,
    ...shownReason(refund),
    failure: refund.failure ?? null,
    created: Math.floor(refund.createdAtMs / 1000),
    livemode: payment.mode === 'live',
  };
}

export function holdChangeNoun({ kind }: Pick<HoldChange, 'kind'>): 'capture' | 'cancellation' {
  return kind === 'capture' ? 'capture' : 'cancellation';
}

export function holdChangeObject(
  change: HoldChange,
  state: PaymentState,
  createdAtMs: number,
): Record<string, unknown> {
  const { payment } = state;
  return {
    id: change.operationId,
    object: holdChangeNoun(change),
    payment: payment.id,
    amount: change.amountMinor,
    currency: payment.currency,
    status: holdChangeStatus(change, state),
    reason: change.reason ?? null,
    ...(change.request === undefined ? {} : { request: requestObject(change.request) }),
    failure: change.failure ?? null,
    created: Math.floor(createdAtMs / 1000),
    livemode: payment.mode === 'live',
  };
}

function requestObject(request: OperatorRequest): Record<string, unknown> {
  return { operator: request.operator, ...shownReason(request) };
}

export const HOLD_CHANGE_STATUSES = ['pending', 'succeeded', 'failed'] as const;

function holdChangeStatus(change: HoldChange, state: PaymentState): (typeof HOLD_CHANGE_STATUSES)[number] {
  const { status } = state.payment;
  if (change.status === 'failed') return 'failed';
  if (status === reachedBy(change)) return 'succeeded';
  // While the charge is in review, the capture may have taken place, so it has not failed.
  return status === 'needs_review' || isUnderWay(change, state) ? 'pending' : 'failed';
}

function reachedBy({ kind }: HoldChange): 'succeeded' | 'canceled' {
  return kind === 'capture' ? 'succeeded' : 'canceled';
}

/**
 * The response depends only on the payment's state, its details and the request's id, so the owner, a retry and the
 * resolver render the same response.
 */
export function changeAnswer(
  operationId: OperationId,
  state: PaymentState,
  details: FirstDetails,
  requestId: string,
): Answer {
  const change = changeOf(state, operationId);
  invariant(change !== undefined, 'the change to answer is not in the chain');
  return change.kind === 'refund'
    ? refundAnswer(change, state, requestId)
    : holdAnswer(change, state, details, requestId);
}

/**
 * Returns the fields of the response (`changeAnswer`) that contain personal data, as JSON text; undefined when there
 * are none.
 */
export function changeAnswerFields(
  operationId: OperationId,
  state: PaymentState,
  details: FirstDetails,
): string | undefined {
  const change = changeOf(state, operationId);
  return change?.kind === 'refund' ? reasonFields(change) : personalFields(details);
}

function refundAnswer(refund: Refund, { payment }: PaymentState, requestId: string): Answer {
  const body = refundObject(refund, payment);
  switch (refund.status) {
    case 'succeeded':
    case 'pending':
      return {
        status: refund.status === 'succeeded' ? 201 : 202,
        headers: { 'content-type': JSON_TYPE, location: `/v1/refunds/${refund.refundId}` },
        body: JSON.stringify(body),
      };
    case 'failed':
      return failed('refund', refund.failure, requestId, { refund: body });
  }
}

function holdAnswer(change: HoldChange, state: PaymentState, details: FirstDetails, requestId: string): Answer {
  const { payment } = state;
  const body = paymentObject(payment, details);
  const isReached = payment.status === reachedBy(change);
  // While the charge is in review, the capture may have taken place, so it has not failed.
  const isInReview = payment.status === 'needs_review';
  if (isReached || isInReview || isUnderWay(change, state)) {
    return {
      status: isReached ? 200 : 202,
      headers: { 'content-type': JSON_TYPE, location: `/v1/payments/${payment.id}` },
      body: JSON.stringify(body),
    };
  }
  return failed(change.kind === 'capture' ? 'capture' : 'cancellation', change.failure, requestId, { payment: body });
}

function failed(
  what: 'capture' | 'cancellation' | 'refund',
  failure: Failure | undefined,
  requestId: string,
  extra: Readonly<Record<string, unknown>>,
): Answer {
  const problem = failure?.code === NOT_ATTEMPTED ? notAttempted(what) : refusedByProcessor(what, failure);
  return {
    status: problem.status,
    headers: { 'content-type': PROBLEM_TYPE },
    body: problemBody(problem, requestId, extra),
  };
}

function notAttempted(what: string): Problem {
  return {
    status: 409,
    code: `${what}_not_attempted`,
    title: `${capital(what)} not attempted`,
    detail: `The processor has no such ${what}, and nothing has changed. Use a new Idempotency-Key.`,
  };
}

function refusedByProcessor(what: string, failure: Failure | undefined): Problem {
  return {
    status: 402,
    code: `${what}_failed`,
    title: `${capital(what)} failed`,
    detail: failure?.message ?? `The processor refused the ${what}.`,
  };
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
