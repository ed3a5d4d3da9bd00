import { problemAnswer } from '../../http/http-answer.ts';
import { inProgress, payloadMismatch, replayed } from '../../http/keyed-request.ts';
import { problem } from '../../http/problems.ts';
import type { Answer } from '../../kernel/answer.ts';
import type { CreateOrderOutcome } from '../use/create-order.ts';

/** The answer to a request for an order. A first execution and a replay return the stored answer unchanged. */
export function orderOutcomeAnswer(outcome: CreateOrderOutcome, requestId: string): Answer {
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'in_progress':
      return inProgress(requestId);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'order_key_expired': {
      const detail = 'This Idempotency-Key has made an order, and its answer is no longer kept. Look at that order.';
      return problemAnswer(problem('idempotency_key_expired', detail), requestId, {
        members: { order_id: outcome.orderId },
      });
    }
  }
}
