import { type Answer, JSON_TYPE, PROBLEM_TYPE, type Problem, problemBody } from '../../kernel/answer.ts';
import type { Payment } from './payment.ts';
import { NOT_ATTEMPTED, paymentObject } from './payment.ts';
import type { FirstDetails } from './transition.ts';

/**
 * The response depends only on the payment and its details, so the owner, a retry and the resolver render the same
 * bytes.
 */
export function creationAnswer(payment: Payment, details: FirstDetails): Answer {
  const location = { location: `/v1/payments/${payment.id}` };
  const body = paymentObject(payment, details);
  switch (payment.status) {
    case 'succeeded':
    case 'requires_capture':
      return { status: 201, headers: { 'content-type': JSON_TYPE, ...location }, body: JSON.stringify(body) };
    case 'processing':
    case 'requires_action':
    case 'needs_review':
      return { status: 202, headers: { 'content-type': JSON_TYPE, ...location }, body: JSON.stringify(body) };
    case 'failed':
    case 'canceled': {
      const problem = failureProblem(payment);
      return {
        status: problem.status,
        headers: { 'content-type': PROBLEM_TYPE },
        body: problemBody(problem, details.requestId, { payment: body }),
      };
    }
  }
}

function failureProblem(payment: Payment): Problem {
  if (payment.failure?.code === NOT_ATTEMPTED) {
    return {
      status: 409,
      code: 'payment_not_attempted',
      title: 'Payment not attempted',
      detail: 'The processor has no such charge, and nothing was charged. Use a new Idempotency-Key.',
    };
  }
  if (payment.status === 'canceled') {
    return {
      status: 402,
      code: 'payment_canceled',
      title: 'Payment canceled',
      detail: 'The payment was voided at the processor before its capture. Nothing was charged.',
    };
  }
  return {
    status: 402,
    code: 'payment_failed',
    title: 'Payment failed',
    detail: payment.failure?.message ?? 'The processor refused the payment.',
  };
}
