import type * as z from 'zod';
import { defined } from '../kernel/defined.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../kernel/faults.ts';
import { parseRetryAfter } from '../kernel/retry-after.ts';
import type { HttpAnswer } from './http-call.ts';
import type { Fault } from './outbound-calls.ts';

/** Returns the fault for a response that is neither a success nor a readable refusal. */
export function vendorFault(vendor: string, answer: HttpAnswer, retryAfterSeconds?: number): Fault {
  const { status } = answer;
  const message = `The ${vendor} responded with ${status}.`;
  const options = defined({ retryAfterSeconds });
  if (status === 401 || status === 403) return new TerminalError(`${vendor}_unauthorized`, message);
  if (status === 429) return new RetryableError(`${vendor}_rate_limited`, message, options);
  if (status >= 400 && status < 500) return new TerminalError(`${vendor}_refused`, message);
  if (status >= 500) return new AmbiguousError(`${vendor}_error`, message, options);
  return new AmbiguousError(`${vendor}_answer_unexpected`, message);
}

/** In seconds; undefined if the header is missing or invalid. */
export function standardRetryAfter(answer: HttpAnswer, nowMs: number): number | undefined {
  return parseRetryAfter(answer.retryAfter, nowMs);
}

export function readJson<T>(vendor: string, schema: z.ZodType<T>, answer: HttpAnswer): T {
  const read = tryReadJson(schema, answer);
  if (read !== undefined) return read;
  throw new AmbiguousError(
    `${vendor}_answer_unreadable`,
    `The ${vendor}'s response with status ${answer.status} cannot be read.`,
  );
}

export function tryReadJson<T>(schema: z.ZodType<T>, answer: HttpAnswer): T | undefined {
  try {
    const json: unknown = JSON.parse(answer.text);
    return schema.safeParse(json).data;
  } catch {
    return undefined;
  }
}
