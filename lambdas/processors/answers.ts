import type * as z from 'zod';
import { defined } from '../kernel/defined.ts';
import { AmbiguousError, RetryableError } from '../kernel/faults.ts';
import { printable } from '../kernel/one-line.ts';
import { parseRetryAfter } from '../kernel/retry-after.ts';
import { redactSensitive } from '../kernel/sensitive.ts';
import type { HttpAnswer } from '../outbound/http-call.ts';
import type { Failure } from '../payments/domain/payment.ts';
import { ANSWER_MISMATCH } from '../payments/use/processor.ts';

export function parse<T>(schema: z.ZodType<T>, answer: HttpAnswer): T {
  try {
    return schema.parse(JSON.parse(answer.text));
  } catch (cause) {
    throw new AmbiguousError(
      'processor_answer_unreadable',
      `The body of the response with status ${answer.status} does not match the schema.`,
      { cause },
    );
  }
}

export function statusFault(answer: HttpAnswer, nowMs: number): Error {
  const { status } = answer;
  if (status === 401 || status === 403) {
    return new RetryableError(
      'processor_unauthorized',
      `The processor responded with ${status}.`,
      retryAfter(answer, nowMs),
    );
  }
  if (status === 429) {
    return new RetryableError('processor_rate_limited', 'The processor responded with 429.', retryAfter(answer, nowMs));
  }
  if (status === 409)
    return new AmbiguousError('processor_conflict', 'The processor is processing another request with this key.');
  const code = status >= 500 ? 'processor_error' : 'processor_answer_unexpected';
  return new AmbiguousError(code, `The processor responded with ${status}.`);
}

function retryAfter(answer: HttpAnswer, nowMs: number): { retryAfterSeconds?: number } {
  const seconds = parseRetryAfter(answer.retryAfter, nowMs);
  return defined({ retryAfterSeconds: seconds });
}

export function mismatch(message: string): AmbiguousError {
  return new AmbiguousError(ANSWER_MISMATCH, message);
}

/** The message contains the name of the field, but no value. */
export function unreadable({ issues: [first] }: z.ZodError): AmbiguousError {
  const field = first?.path.join('.') ?? '';
  return new AmbiguousError('processor_answer_unreadable', `The field ${field} does not match the schema.`);
}

/** The refused request had no effect. The refusal does not show whether an earlier request applied the change. */
export function chargeUnknown(): RetryableError {
  return new RetryableError(
    'processor_charge_unknown',
    'The processor does not know the charge. The API key may belong to another account or mode.',
  );
}

/** Faults that do not indicate an outage: the processor is reachable, and only this request failed. */
const NON_OUTAGE_FAULTS: ReadonlySet<string> = new Set([
  'processor_rate_limited',
  'processor_busy',
  'processor_conflict',
  'processor_charge_unknown',
  ANSWER_MISMATCH,
  'processor_answer_unexpected',
]);

/** The circuit breaker counts the errors for which this is true. */
export function isProcessorUnhealthy(error: unknown): boolean {
  return (error instanceof RetryableError || error instanceof AmbiguousError) && !NON_OUTAGE_FAULTS.has(error.code);
}

/**
 * Maximum lengths of a failure's code and message, in UTF-16 code units. With longer texts, each declined payment would
 * cost an additional write unit.
 */
const MAX_CODE_LENGTH = 64;
const MAX_MESSAGE_LENGTH = 200;

export function sanitizedFailure({ code, message }: Failure): Failure {
  return { code: cut(code, MAX_CODE_LENGTH), message: cut(redactSensitive(message), MAX_MESSAGE_LENGTH) };
}

/**
 * Shortens a text without leaving a part of a surrogate pair. With a lone surrogate, the transition could not be
 * written, because RFC 8785 requires valid Unicode.
 */
function cut(text: string, length: number): string {
  return printable(text.slice(0, length));
}
