import type * as z from 'zod';
import { AmbiguousError, RetryableError } from '../kernel/faults.ts';
import { redactSensitive } from '../kernel/sensitive.ts';
import type { HttpAnswer } from '../outbound/http-call.ts';
import { parseRetryAfter } from '../outbound/retry-after.ts';
import type { Failure } from '../payments/domain/payment.ts';

/** What every processor's client makes of answers: the faults that the engine understands, and words fit to be kept. */

export function parse<T>(schema: z.ZodType<T>, answer: HttpAnswer): T {
  try {
    return schema.parse(JSON.parse(answer.text));
  } catch (cause) {
    throw new AmbiguousError('processor_answer_unreadable', `The answer ${answer.status} cannot be read.`, { cause });
  }
}

/** What a status that no reader of answers expects says about the call. */
export function statusFault(answer: HttpAnswer, nowMs: number): Error {
  const { status } = answer;
  if (status === 401 || status === 403) {
    return new RetryableError('processor_unauthorized', `The processor answered ${status}.`, retryAfter(answer, nowMs));
  }
  if (status === 429) {
    return new RetryableError('processor_rate_limited', 'The processor answered 429.', retryAfter(answer, nowMs));
  }
  if (status === 409) return new AmbiguousError('processor_conflict', 'The processor is busy with this key.');
  const code = status >= 500 ? 'processor_error' : 'processor_answer_unexpected';
  return new AmbiguousError(code, `The processor answered ${status}.`);
}

function retryAfter(answer: HttpAnswer, nowMs: number): { retryAfterSeconds?: number } {
  const seconds = parseRetryAfter(answer.retryAfter, nowMs);
  return seconds === undefined ? {} : { retryAfterSeconds: seconds };
}

export function mismatch(message: string): AmbiguousError {
  return new AmbiguousError('processor_answer_mismatch', message);
}

/**
 * A processor that does not know a charge which it named itself is another one, or the books of another account or mode:
 * the key is wrong, nothing was done, and nothing is said about the change.
 */
export function chargeUnknown(): RetryableError {
  return new RetryableError(
    'processor_charge_unknown',
    'The processor does not know our charge: is the key another’s?',
  );
}

/** Faults that say nothing about the processor's health: it is there, and it answered this one call so. */
const HEALTHY_FAULTS: ReadonlySet<string> = new Set([
  'processor_rate_limited',
  'processor_busy',
  'processor_conflict',
  'processor_answer_mismatch',
  'processor_answer_unexpected',
]);

/** Whether a fault tells that the processor, or our access to it, is not well: what the circuit breaker counts. */
export function tellsOfTrouble(error: unknown): boolean {
  return (error instanceof RetryableError || error instanceof AmbiguousError) && !HEALTHY_FAULTS.has(error.code);
}

/** Longer words would cost every declined payment another write unit. */
const MAX_CODE_LENGTH = 64;
const MAX_MESSAGE_LENGTH = 200;

/** A processor's words are kept and shown: bounded, and without what must be kept nowhere. */
export function presentable({ code, message }: Failure): Failure {
  return { code: cut(code, MAX_CODE_LENGTH), message: cut(redactSensitive(message), MAX_MESSAGE_LENGTH) };
}

/** Half of a letter that takes two would make the whole transition unwritable (RFC 8785 wants well-formed Unicode). */
function cut(text: string, length: number): string {
  return text.slice(0, length).toWellFormed();
}
