import * as z from 'zod';
import { defined } from '../../kernel/defined.ts';
import { TerminalError } from '../../kernel/faults.ts';
import { printable } from '../../kernel/one-line.ts';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import { callOnce, type HttpAnswer, type SendRequest } from '../../outbound/http-call.ts';
import type { DeadLettered, OnGivenUp, OutboundCall } from '../../outbound/outbound-calls.ts';
import type { OutboundPolicy } from '../../outbound/outbound-policy.ts';
import { standardRetryAfter, tryReadJson, vendorFault } from '../../outbound/vendor-answers.ts';
import type { Failure } from '../../payments/domain/payment.ts';

export interface ShopOptions {
  /** Without a trailing slash. */
  readonly url: string;
  readonly policy: OutboundPolicy;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** @default callOnce: HTTP */
  readonly send?: SendRequest;
  /**
   * Calls whose attempts have all failed are safe to repeat at any later time.
   *
   * @default throw
   */
  readonly givenUp?: OnGivenUp;
}

interface ShopPost {
  readonly path: string;
  /** @default none: the call is idempotent by itself */
  readonly key?: string;
  readonly body?: object;
}

export async function postOnce(
  { url, policy, send = callOnce }: Pick<ShopOptions, 'url' | 'policy' | 'send'>,
  { path, key, body = {} }: ShopPost,
  { timeoutMs }: CallLimit,
): Promise<HttpAnswer> {
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...defined({ 'idempotency-key': key }),
  };
  const text = JSON.stringify(body);
  return send({ method: 'POST', url: `${url}${path}`, headers, body: text, timeoutMs, party: policy.vendor });
}

/** The shop stores idempotency keys permanently, so a retry does not repeat the effect. */
export async function postToShop<T>(
  options: Omit<ShopOptions, 'givenUp'>,
  request: ShopPost & {
    readonly operation: string;
    /** The order to which the call belongs. @default none */
    readonly about?: string;
    readonly limit: CallLimit;
  },
  read: (answer: HttpAnswer, nowMs: number) => T,
  ending: { readonly givenUp: OnGivenUp; readonly payload: object } = { givenUp: 'throw', payload: {} },
): Promise<T | DeadLettered> {
  const { policy, clock } = options;
  const { operation, about, limit } = request;
  const call: OutboundCall<{ readonly answer: T }> = {
    operation,
    about,
    deadlineMs: clock.nowMs() + limit.timeoutMs,
    idempotent: 'by_key',
    send: async (each) => ({ answer: read(await postOnce(options, request, each), clock.nowMs()) }),
  };
  const { givenUp, payload } = ending;
  const outcome = await (givenUp === 'throw' ? policy.call(call) : policy.callOrDeadLetter(call, payload, givenUp));
  return 'answer' in outcome ? outcome.answer : outcome;
}

/** Lists the service's objects for an order that does not exist. */
export async function probeShop(
  vendor: string,
  { url, path, send = callOnce }: Pick<ShopOptions, 'url' | 'send'> & { readonly path: string },
  { timeoutMs }: CallLimit,
): Promise<void> {
  const answer = await send({
    method: 'GET',
    url: `${url}${path}?order=probe`,
    headers: { accept: 'application/json' },
    timeoutMs,
    party: vendor,
  });
  if (answer.status !== 200) throw vendorFault(vendor, answer);
}

const errorAnswer = z.object({ error: z.object({ code: z.string().min(1), message: z.string() }) });

const REFUSALS: ReadonlySet<number> = new Set([409, 422]);

/**
 * Parses the refusal in an unsuccessful response.
 *
 * | status                           | meaning                                                        |
 * |----------------------------------|----------------------------------------------------------------|
 * | 409, 422                         | refused, with the shop's code, if the body can be read         |
 * | 422 `idempotency_key_mismatch`   | TerminalError `<vendor>_key_mismatch`: a bug on either side    |
 * | everything else                  | as in `vendorFault`                                            |
 */
export function refusalOf(vendor: string, answer: HttpAnswer, nowMs: number): Failure {
  const error = REFUSALS.has(answer.status) ? tryReadJson(errorAnswer, answer)?.error : undefined;
  if (error === undefined) throw vendorFault(vendor, answer, standardRetryAfter(answer, nowMs));
  if (error.code === 'idempotency_key_mismatch') {
    throw new TerminalError(
      `${vendor}_key_mismatch`,
      `The ${vendor} service has stored this key with a different body.`,
    );
  }
  return { code: printable(error.code), message: printable(error.message) };
}
