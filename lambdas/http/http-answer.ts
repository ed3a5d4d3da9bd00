import { type Answer, JSON_TYPE, PROBLEM_TYPE, type Problem, problemBody } from '../kernel/answer.ts';
import { AmbiguousError, RetryableError } from '../kernel/faults.ts';

import type { GatewayResult } from './gateway-request.ts';
import { problem } from './problems.ts';

export interface ProblemExtras {
  readonly headers?: Readonly<Record<string, string>>;
  /** Extension members of the body. */
  readonly members?: Readonly<Record<string, unknown>>;
}

export function problemAnswer(found: Problem, requestId: string, { headers, members }: ProblemExtras = {}): Answer {
  return {
    status: found.status,
    headers: { 'content-type': PROBLEM_TYPE, ...headers },
    body: problemBody(found, requestId, members),
  };
}

export function jsonAnswer(body: Readonly<Record<string, unknown>>): Answer {
  return { status: 200, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify(body) };
}

/** Whether the same request may succeed in a moment: nothing is stored against it. */
export function isPassing(error: unknown): error is RetryableError | AmbiguousError {
  return error instanceof RetryableError || error instanceof AmbiguousError;
}

/** What a client is told of a fault or a bug: that its key is good to ask again with, and nothing of the inside. */
export function faultAnswer(error: unknown, requestId: string): Answer {
  if (!isPassing(error)) {
    const detail = 'The service failed. Ask again with the same Idempotency-Key: nothing happens twice.';
    return problemAnswer(problem('internal_error', detail), requestId);
  }
  const code = error.code.startsWith('processor_') ? 'processor_unavailable' : 'temporarily_unavailable';
  const detail = 'This cannot be done now. Ask again with the same Idempotency-Key: nothing happens twice.';
  const seconds = Math.max(1, Math.ceil(error.retryAfterSeconds ?? 1));
  return problemAnswer(problem(code, detail), requestId, { headers: { 'retry-after': String(seconds) } });
}

/** The answer as the gateway wants it, with the headers that every answer has. */
export function gatewayResult(answer: Answer, requestId: string): GatewayResult {
  const headers: Record<string, string> = {
    'Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
  for (const [name, value] of Object.entries(answer.headers)) headers[inTitleCase(name)] = value;
  return { statusCode: answer.status, headers, body: answer.body, isBase64Encoded: false };
}

/** `retry-after` as `Retry-After`: the protocol does not care, people reading traces do. */
function inTitleCase(name: string): string {
  return name.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}
