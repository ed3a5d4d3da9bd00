import * as z from 'zod';
import { TerminalError } from '../../kernel/faults.ts';
import { printable } from '../../kernel/one-line.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import type { Found } from '../../outbound/outbound-calls.ts';
import type { SendAnswer } from '../../outbound/send-once.ts';
import { readJson, standardRetryAfter, tryReadJson, vendorFault } from '../../outbound/vendor-answers.ts';

/** The metadata field with Payonce's message id. */
export const OUR_ID_FIELD = 'payonce';

const errorAnswer = z.object({ ErrorCode: z.int(), Message: z.string() });
const sentAnswer = z.object({ ErrorCode: z.literal(0), MessageID: z.string().min(1) });
const searchAnswer = z.object({
  Messages: z.array(z.object({ MessageID: z.string().min(1), Metadata: z.record(z.string(), z.string()).optional() })),
});

/** Other codes become `postmark_<code>`. */
const REFUSALS: ReadonlyMap<number, string> = new Map([
  [300, 'invalid_email_request'],
  [406, 'inactive_recipient'],
]);

/**
 * Error codes that concern the account or the sender, not the e-mail. The same e-mail can be sent after an operator has
 * fixed the error.
 */
const ACCOUNT_ERRORS: ReadonlySet<number> = new Set([400, 401, 405, 412, 413]);

/**
 * Parses the response to a send.
 *
 * | status                             | meaning                                        |
 * |------------------------------------|------------------------------------------------|
 * | 200, ErrorCode 0, with a MessageID | sent                                           |
 * | 200 or 422, code of the account    | TerminalError `postmark_account`               |
 * | 200, any other ErrorCode           | refused, although the HTTP status is 200       |
 * | 422, any other ErrorCode           | refused (300: the request, 406: the recipient) |
 * | 2xx that cannot be read            | AmbiguousError `postmark_answer_unreadable`    |
 * | everything else                    | as in `vendorFault`                            |
 */
export function readSendAnswer(vendor: string, answer: HttpAnswer, nowMs: number): SendAnswer {
  if (answer.status === 200) {
    const { ErrorCode: code, Message: message } = readJson(vendor, errorAnswer, answer);
    if (code !== 0) return refusal(vendor, code, message);
    return { kind: 'sent', vendorId: readJson(vendor, sentAnswer, answer).MessageID };
  }
  if (answer.status === 422) {
    const error = tryReadJson(errorAnswer, answer);
    if (error !== undefined) return refusal(vendor, error.ErrorCode, error.Message);
  }
  throw vendorFault(vendor, answer, standardRetryAfter(answer, nowMs));
}

/** @throws as `vendorFault`, and AmbiguousError when the response is unreadable */
export function readFoundEmail(
  vendor: string,
  messageId: string,
  answer: HttpAnswer,
  nowMs: number,
): Found<{ readonly kind: 'sent'; readonly vendorId: string }> {
  if (answer.status !== 200) throw vendorFault(vendor, answer, standardRetryAfter(answer, nowMs));
  const { Messages: messages } = readJson(vendor, searchAnswer, answer);
  // Compare the values here: Postmark does not document whether its search compares whole values.
  const found = messages.find(({ Metadata: metadata }) => metadata?.[OUR_ID_FIELD] === messageId);
  return found === undefined
    ? { kind: 'absent' }
    : { kind: 'found', answer: { kind: 'sent', vendorId: found.MessageID } };
}

function refusal(vendor: string, code: number, message: string): SendAnswer {
  if (ACCOUNT_ERRORS.has(code)) throw new TerminalError(`${vendor}_account`, `Postmark's error ${code}.`);
  return { kind: 'refused', failure: { code: REFUSALS.get(code) ?? `postmark_${code}`, message: printable(message) } };
}
