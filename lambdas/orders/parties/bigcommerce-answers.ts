import * as z from 'zod';
import { TerminalError } from '../../kernel/faults.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import type { Fault, Found } from '../../outbound/outbound-calls.ts';
import type { SendAnswer } from '../../outbound/send-once.ts';
import { readJson, standardRetryAfter, tryReadJson, vendorFault } from '../../outbound/vendor-answers.ts';

const orderAnswer = z.object({ id: z.int().positive() });
const listedOrder = orderAnswer.extend({
  external_id: z.string().nullish(),
  external_order_id: z.string().nullish(),
});
/** A V2 error is a list of messages. A V3 error has a `title`. */
const errorAnswer = z.union([
  z.array(z.object({ message: z.string() })).min(1),
  z.object({ title: z.string() }).transform(({ title }) => [{ message: title }]),
]);

/** The statuses with which BigCommerce refuses a request. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404, 409, 413, 415, 422]);

/**
 * The answer to an order.
 *
 * | status                             | meaning                                         |
 * |------------------------------------|-------------------------------------------------|
 * | 200 or 201 with an id              | made                                            |
 * | 400, 404, 409, 413, 415, 422, read | refused                                         |
 * | 200 or 201 that cannot be read     | AmbiguousError `bigcommerce_answer_unreadable`  |
 * | everything else                    | as in `vendorFault`                             |
 */
export function readCreateAnswer(vendor: string, answer: HttpAnswer, nowMs: number): SendAnswer {
  const { status } = answer;
  if (status === 200 || status === 201) {
    return { kind: 'sent', vendorId: String(readJson(vendor, orderAnswer, answer).id) };
  }
  const [error] = REFUSALS.has(status) ? (tryReadJson(errorAnswer, answer) ?? []) : [];
  if (error !== undefined)
    return { kind: 'refused', failure: { code: `bigcommerce_${status}`, message: error.message } };
  throw refusedFor(vendor, answer, nowMs);
}

/**
 * The answer to a list by Payonce's reference. 204 without a body is an empty list.
 *
 * @throws as `refusedFor`, and TerminalError when the list contains other orders
 */
export function readFoundOrder(
  vendor: string,
  reference: string,
  answer: HttpAnswer,
  nowMs: number,
): Found<{ readonly kind: 'sent'; readonly vendorId: string }> {
  if (answer.status === 204) return { kind: 'absent' };
  if (answer.status !== 200) throw refusedFor(vendor, answer, nowMs);
  const orders = readJson(vendor, z.array(listedOrder), answer);
  const found = orders.find((order) => order.external_id === reference || order.external_order_id === reference);
  if (found !== undefined) return { kind: 'found', answer: { kind: 'sent', vendorId: String(found.id) } };
  // An unknown filter is ignored and every order is listed. Then absence from the list proves nothing.
  if (orders.length > 0) throw new TerminalError(`${vendor}_filter_ignored`, 'The list holds orders not asked for.');
  return { kind: 'absent' };
}

/** The fault of an answer. `x-rate-limit-time-reset-ms` gives the time until BigCommerce resets the quota. */
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
