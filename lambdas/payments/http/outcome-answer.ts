import { problemAnswer } from '../../http/http-answer.ts';
import { inProgress, payloadMismatch, replayed } from '../../http/keyed-request.ts';
import { problem } from '../../http/problems.ts';
import type { Answer, Problem } from '../../kernel/answer.ts';
import type { CreatePaymentOutcome } from '../use/create-payment.ts';
import type { NoProcessor } from '../use/pinned-processor.ts';

export function outcomeAnswer(outcome: CreatePaymentOutcome, requestId: string): Answer {
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'in_progress':
      return inProgress(requestId);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'key_expired': {
      const detail =
        'This Idempotency-Key was used before, and its response is no longer stored. Retrieve the payment.';
      return problemAnswer(problem('idempotency_key_expired', detail), requestId, {
        members: { payment_id: outcome.paymentId },
      });
    }
    case 'no_processor':
      return problemAnswer(noProcessorProblem(outcome.why), requestId);
    case 'reference_used': {
      const detail = 'Another payment uses this reference; it becomes free when that payment fails or is canceled.';
      return problemAnswer(problem('reference_already_used', detail, 'reference'), requestId, {
        members: { payment_id: outcome.paymentId },
      });
    }
  }
}

/** The key stays unused. */
export function noProcessorProblem(why: NoProcessor): Problem {
  switch (why) {
    case 'no_processor_configured':
      return problem(why, 'This deployment has no payment processor yet.');
    case 'livemode_not_available':
    case 'testmode_not_available': {
      const only = why === 'livemode_not_available' ? 'test' : 'live';
      return problem(why, `This deployment accepts this request in ${only} mode only. Use a ${only} key.`);
    }
    case 'no_processor_for_payment':
      return problem(why, 'No processor accepts payments in this mode and currency.');
  }
}
