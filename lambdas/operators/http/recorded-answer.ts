import { type Handled, refusal } from '../../http/authenticated-api.ts';
import type { GatewayRequest } from '../../http/gateway-request.ts';
import { keyedCounts, payloadMismatch, replayed } from '../../http/keyed-request.ts';
import { problem } from '../../http/problems.ts';
import type { Problem } from '../../kernel/answer.ts';
import type { RecordedOutcome } from '../use/record-once.ts';

export const NO_TENANT = problem('not_found', 'There is no such tenant.');

/** @param refused the problem document to return if nothing was written */
export function recordedAnswer(outcome: RecordedOutcome, request: GatewayRequest, refused: Problem): Handled {
  const counts = keyedCounts(outcome);
  switch (outcome.kind) {
    case 'first':
      return { answer: outcome.answer, outcome: outcome.kind, counts };
    case 'replay':
      return { answer: replayed(outcome.answer), outcome: outcome.kind, counts };
    case 'payload_mismatch':
      return { answer: payloadMismatch(request.requestId), outcome: outcome.kind, counts };
    case 'refused':
      return refusal(refused, request);
  }
}
