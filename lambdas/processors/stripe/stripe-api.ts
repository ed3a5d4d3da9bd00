import { Stripe } from 'stripe';
import * as z from 'zod';
import { defined } from '../../kernel/defined.ts';
import { AmbiguousError, isFault, RetryableError, TerminalError } from '../../kernel/faults.ts';
import type { Mode } from '../../kernel/ids.ts';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import type { SendRequest } from '../../outbound/http-call.ts';
import type { Failure } from '../../payments/domain/payment.ts';
import { mismatch, sanitizedFailure } from '../answers.ts';
import { faultOfStatus, stripeTransport } from './stripe-transport.ts';

/**
 * The API version that the package's types describe. If an update of the package changes the API version, this line
 * does not compile.
 */
export const STRIPE_API_VERSION: Stripe.LatestApiVersion = '2026-10-28.endive';

export const STRIPE_URL = 'https://api.stripe.com';

export interface StripeOptions {
  /** Called before every request, so a rotated key takes effect without a deployment. */
  readonly apiKey: () => Promise<string>;
  /** Every object in a response must have the same mode. */
  readonly mode: Mode;
  /** The account of the API key (`acct_…`). Payments are pinned to this account. */
  readonly account: string;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Base URL without a trailing slash. @default https://api.stripe.com */
  readonly baseUrl?: string;
  /** @default `callOnce`, over HTTP */
  readonly send?: SendRequest;
}

/** A refusal by Stripe: 402, or a readable 400, 404 or 422. */
interface StripeRefusal {
  readonly kind: 'refused';
  readonly status: number;
  readonly failure: Failure;
  readonly intentId?: string;
}

export type StripeAnswer<T> = { readonly kind: 'done'; readonly value: T } | StripeRefusal;

/**
 * Calls Stripe once through the package, and classifies the result.
 *
 * | what the package throws                                        | meaning                                            |
 * |----------------------------------------------------------------|----------------------------------------------------|
 * | StripeCardError, any 402                                       | refused                                            |
 * | `invalid_request_error` with 400, 404 or 422                   | refused                                            |
 * | StripeIdempotencyError: key used with other parameters         | AmbiguousError `processor_answer_mismatch`         |
 * | 409, or code `lock_timeout`: concurrent request                | AmbiguousError `processor_conflict`                |
 * | StripeAuthenticationError (401), StripePermissionError (403)   | RetryableError `processor_unauthorized`            |
 * | StripeRateLimitError (429, or 400 with code `rate_limit`)      | RetryableError `processor_rate_limited`            |
 * | 5xx                                                            | AmbiguousError `processor_error`                   |
 * | StripeConnectionError                                          | the transport's fault                              |
 * | anything before the transport was called                       | TerminalError `processor_request_invalid`          |
 * | everything else                                                | AmbiguousError `processor_answer_unexpected`       |
 *
 * Sources: Stripe API reference, "Errors"; "Error codes"; "Advanced error handling"; the package's `Error.js`.
 */
export type CallStripe = <T>(
  call: (stripe: Stripe) => Promise<unknown>,
  schema: z.ZodType<T>,
) => Promise<StripeAnswer<T>>;

export function createStripeApi({ apiKey, mode, clock, baseUrl = STRIPE_URL, send }: StripeOptions): CallStripe {
  const httpClient = stripeTransport({ baseUrl, mode, clock, ...defined({ send }) });
  return async (call, schema) => {
    let isSent = false;
    const makeRequest: typeof httpClient.makeRequest = async (...request) => {
      isSent = true;
      return httpClient.makeRequest(...request);
    };
    const stripe = new Stripe(await readKey(apiKey, mode), {
      apiVersion: STRIPE_API_VERSION,
      httpClient: { ...httpClient, makeRequest },
      // The caller decides whether to retry.
      maxNetworkRetries: 0,
      telemetry: false,
    });
    let answer: unknown;
    try {
      answer = await call(stripe);
    } catch (error) {
      if (!isSent) throw new TerminalError('processor_request_invalid', 'The Stripe package cannot build the request.');
      return refusalIn(error, clock.nowMs());
    }
    const read = schema.safeParse(answer);
    if (read.success) return { kind: 'done', value: read.data };
    throw new AmbiguousError('processor_answer_unreadable', 'Stripe’s response does not match the expected schema.');
  };
}

/**
 * A key that was pasted with an invisible character cannot be sent in a header. The settings are then wrong, not the
 * payment.
 */
const HEADER_VALUE = /^[\x21-\x7e]+$/;

/**
 * The text of a secret key or a restricted key contains the key's mode (Stripe documentation, "API keys").
 *
 * @throws RetryableError when the key cannot be read, does not belong to this mode, or has invalid characters; nothing
 * was sent
 */
async function readKey(apiKey: () => Promise<string>, mode: Mode): Promise<string> {
  let cause: unknown;
  try {
    const key = await apiKey();
    const isOfMode = key.startsWith(`sk_${mode}_`) || key.startsWith(`rk_${mode}_`);
    if (isOfMode && HEADER_VALUE.test(key)) return key;
    cause = new Error(`the key does not belong to ${mode} mode, or has invalid characters`);
  } catch (error) {
    cause = error;
  }
  throw new RetryableError('processor_key_unavailable', 'No valid Stripe API key could be read.', { cause });
}

/**
 * No fault has the package's error as its cause, because the error contains the whole intent with its client secret.
 */
function refusalIn(error: unknown, nowMs: number): StripeRefusal {
  if (!(error instanceof Stripe.errors.StripeError)) {
    throw new AmbiguousError('processor_answer_unreadable', 'The Stripe package cannot read the response.');
  }
  const { detail, statusCode: status = 0, rawType, code } = error;
  if (isFault(detail)) throw detail;
  if (code === 'lock_timeout')
    throw new AmbiguousError('processor_conflict', 'Another request has locked this object at Stripe.');
  const retryAfter = error.headers?.['retry-after'] ?? null;
  if (error instanceof Stripe.errors.StripeRateLimitError) throw faultOfStatus(429, retryAfter, nowMs);
  // A request with this key was sent before. Only a look-up can determine the outcome of that request.
  if (error instanceof Stripe.errors.StripeIdempotencyError)
    throw mismatch('The key was used with different parameters.');
  const refused = status === 402 || (REFUSALS.has(status) && rawType === 'invalid_request_error');
  if (!refused) throw faultOfStatus(status, retryAfter, nowMs);
  const intentId = paymentIntentOf.safeParse(error.payment_intent).data?.id;
  const failure = failureOf(error);
  return { kind: 'refused', status, failure, ...defined({ intentId }) };
}

const REFUSALS: ReadonlySet<number> = new Set([400, 404, 422]);
const paymentIntentOf = z.object({ id: z.string() });

/**
 * Prefers `decline_code`, because it is more specific than `code`. Ignores the value `generic_decline`, which gives no
 * reason.
 */
export function failureOf(error: {
  readonly code?: string | null | undefined;
  readonly decline_code?: string | null | undefined;
  readonly message?: string | null | undefined;
}): Failure {
  const reason = error.decline_code === 'generic_decline' ? undefined : error.decline_code;
  const code = reason || error.code || 'refused';
  return sanitizedFailure({ code, message: error.message || 'The processor gave no reason.' });
}

/** Returns the value of a request that Stripe must not refuse. */
export function requireSuccess<T>(answer: StripeAnswer<T>): T {
  if (answer.kind === 'done') return answer.value;
  throw faultOfStatus(answer.status, null, 0);
}

/**
 * Returns the remaining time of a call, in milliseconds. At least 1, so that a request that begins too late times out.
 */
export type TimeLeft = () => number;

export function timeLeft(clock: Pick<Clock, 'nowMs'>, { timeoutMs }: CallLimit): TimeLeft {
  const endsAtMs = clock.nowMs() + timeoutMs;
  return () => Math.max(1, Math.trunc(Math.min(timeoutMs, endsAtMs - clock.nowMs())));
}
