import type { Answer } from '../kernel/answer.ts';
import { type IdempotencyKey, parseIdempotencyKey } from '../kernel/idempotency-key.ts';
import type { RequestCount } from '../kernel/platform/telemetry.ts';
import type { GatewayRequest } from './gateway-request.ts';
import { problemAnswer } from './http-answer.ts';
import { type Parsed, problem, refused, valid } from './problems.ts';

/** How idempotency keys are asked for and answered, alike on every route that takes them. */

export function readIdempotencyKey(request: GatewayRequest): Parsed<IdempotencyKey> {
  const parsed = parseIdempotencyKey(request.header('idempotency-key'));
  switch (parsed.kind) {
    case 'key':
      return valid(parsed.key);
    case 'missing':
      return refused('missing_idempotency_key', 'Send an Idempotency-Key header: 1 to 128 visible ASCII characters.');
    case 'invalid':
      return refused('invalid_idempotency_key', `The Idempotency-Key is not valid: ${parsed.reason}.`);
  }
}

/** The stored answer, with the one header that tells it from the first. */
export function replayed(stored: Answer): Answer {
  return { ...stored, headers: { ...stored.headers, 'idempotency-replayed': 'true' } };
}

export function payloadMismatch(requestId: string): Answer {
  const detail = 'This Idempotency-Key belongs to a request with another body. A new request needs a new key.';
  return problemAnswer(problem('idempotency_key_payload_mismatch', detail), requestId);
}

/** Most requests that are under way end within this. Seconds. */
const IN_PROGRESS_RETRY_SECONDS = 1;

export function inProgress(requestId: string): Answer {
  const detail = 'The first request with this Idempotency-Key is still running. Ask again, or send Prefer: wait=8.';
  return problemAnswer(problem('idempotency_key_in_progress', detail), requestId, {
    headers: { 'retry-after': String(IN_PROGRESS_RETRY_SECONDS) },
  });
}

/** What is counted of a request that takes effect at once or not at all. */
export function keyedCounts({ kind }: { readonly kind: string }): readonly RequestCount[] {
  if (kind === 'payload_mismatch') return ['mismatch'];
  return kind === 'first' || kind === 'replay' ? [kind] : [];
}
