import * as z from 'zod';
import { printable } from '../../kernel/one-line.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import type { Fault } from '../../outbound/outbound-calls.ts';
import type { SendAnswer } from '../../outbound/send-once.ts';
import { readJson, standardRetryAfter, tryReadJson, vendorFault } from '../../outbound/vendor-answers.ts';

const adjusted = z.object({ transaction_id: z.string().min(1) });
/** Some versions of the V3 API wrap the result in `data`. */
const adjustedAnswer = z.union([adjusted, z.object({ data: adjusted }).transform(({ data }) => data)]);
const errorAnswer = z.object({ title: z.string() });

const REFUSALS: ReadonlySet<number> = new Set([400, 404, 409, 413, 415, 422]);

/**
 * Parses the response to an inventory adjustment.
 *
 * | status                             | meaning                                         |
 * |------------------------------------|-------------------------------------------------|
 * | 200 with a transaction id          | adjusted                                        |
 * | 400, 404, 409, 413, 415, 422       | refused, if the body can be read                |
 * | 200 that cannot be read            | AmbiguousError `<vendor>_answer_unreadable`     |
 * | everything else                    | as in `vendorFault`                             |
 */
export function readAdjustment(vendor: string, answer: HttpAnswer, nowMs: number): SendAnswer {
  if (answer.status === 200) {
    return { kind: 'sent', vendorId: readJson(vendor, adjustedAnswer, answer).transaction_id };
  }
  const error = REFUSALS.has(answer.status) ? tryReadJson(errorAnswer, answer) : undefined;
  if (error !== undefined) {
    return { kind: 'refused', failure: { code: `bigcommerce_${answer.status}`, message: printable(error.title) } };
  }
  throw refusedFor(vendor, answer, nowMs);
}

/**
 * The retry time is the time until BigCommerce resets the quota, from the header `x-rate-limit-time-reset-ms`. Without
 * this header, it is the time in `Retry-After`.
 */
export function refusedFor(vendor: string, answer: HttpAnswer, nowMs: number): Fault {
  const resetMs = z.coerce
    .number()
    .int()
    .nonnegative()
    .max(3_600_000)
    .safeParse(answer.headers.get(RESET_HEADER) ?? 'none');
  const seconds = resetMs.success ? Math.ceil(resetMs.data / 1_000) : standardRetryAfter(answer, nowMs);
  return vendorFault(vendor, answer, seconds);
}

const RESET_HEADER = 'x-rate-limit-time-reset-ms';
