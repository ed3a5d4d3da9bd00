import { problemAnswer } from '../../http/http-answer.ts';
import { type ProblemCode, problem } from '../../http/problems.ts';
import type { Answer, Problem } from '../../kernel/answer.ts';
import { type ChangeRefusal, MAX_REFUNDS, type UnsupportedChange } from '../domain/change.ts';
import type { ChangeKind } from '../ids.ts';
import type { ChangeOutcome } from '../use/change-payment.ts';
import { outcomeAnswer } from './outcome-answer.ts';

/** Most changes complete within this time. */
const IN_PROGRESS_RETRY_SECONDS = 1;

/** The problem codes of each kind of change, for the API documents. */
export const CHANGE_PROBLEMS: Readonly<Record<ChangeKind, readonly ProblemCode[]>> = {
  capture: [
    'capture_failed',
    'capture_not_attempted',
    'payment_not_capturable',
    'change_in_progress',
    'amount_exceeds_left',
  ],
  cancel: ['cancellation_failed', 'cancellation_not_attempted', 'payment_not_cancelable', 'change_in_progress'],
  refund: [
    'refund_failed',
    'refund_not_attempted',
    'payment_not_refundable',
    'too_many_refunds',
    'amount_exceeds_left',
  ],
};

export function changeOutcomeAnswer(kind: ChangeKind, outcome: ChangeOutcome, requestId: string): Answer {
  switch (outcome.kind) {
    case 'not_found':
      return problemAnswer(problem('not_found', 'There is no such payment.'), requestId);
    case 'refused':
      return refusalAnswer(kind, outcome.refusal, requestId);
    case 'first':
    case 'replay':
    case 'in_progress':
    case 'payload_mismatch':
    case 'key_expired':
      return outcomeAnswer(outcome, requestId);
  }
}

const WRONG_STATUS = {
  capture: ['payment_not_capturable', 'captured'],
  cancel: ['payment_not_cancelable', 'canceled'],
  refund: ['payment_not_refundable', 'refunded'],
} as const;

function refusalAnswer(kind: ChangeKind, refusal: ChangeRefusal, requestId: string): Answer {
  switch (refusal.kind) {
    case 'wrong_status': {
      const [code, done] = WRONG_STATUS[kind];
      const detail = `The payment’s status is ${refusal.status}: it cannot be ${done}.`;
      return problemAnswer(problem(code, detail), requestId, { members: { payment_status: refusal.status } });
    }
    case 'change_in_progress': {
      const detail = 'Another capture or cancellation of this payment is in progress. Retry after it has ended.';
      return problemAnswer(problem('change_in_progress', detail), requestId, {
        headers: { 'retry-after': String(IN_PROGRESS_RETRY_SECONDS) },
      });
    }
    case 'too_many_refunds': {
      const detail = `A payment has at most ${MAX_REFUNDS} refunds, failed ones included. Refund larger amounts.`;
      return problemAnswer(problem('too_many_refunds', detail), requestId);
    }
    case 'exceeds': {
      const detail = `The remaining amount is ${refusal.leftMinor} minor units.`;
      return problemAnswer(problem('amount_exceeds_left', detail, 'amount'), requestId, {
        members: { amount_left: refusal.leftMinor },
      });
    }
    case 'unsupported':
      return problemAnswer(unsupportedProblem(refusal), requestId);
  }
}

function unsupportedProblem({ ability, onlyMinor }: UnsupportedChange): Problem {
  const missing = `the payment’s processor has no ${ability}.`;
  return onlyMinor === undefined
    ? problem('invalid_request', `The money cannot be refunded here: ${missing} Return it by other means.`, 'id')
    : problem('invalid_request', `amount must be ${onlyMinor} or absent: ${missing}`, 'amount');
}
