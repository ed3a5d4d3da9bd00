import { Stripe } from 'stripe';
import * as z from 'zod';
import { AmbiguousError, RetryableError } from '../../kernel/faults.ts';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import type { Failure } from '../../payments/domain/payment.ts';
import { mismatch, presentable } from '../answers.ts';
import { faultOfStatus, stripeTransport } from './stripe-transport.ts';

/** The version whose answers the package's types describe: another package does not compile against this one. */
export const STRIPE_API_VERSION: Stripe.LatestApiVersion = '2026-10-28.endive';

export const STRIPE_URL = 'https://api.stripe.com';

export interface StripeOptions {
  /** The account's secret key as it stands now; asked for before every call, so that a rotated one works at once. */
  readonly apiKey: () => Promise<string>;
  /** Whose key it is (`acct_…`): what payments are pinned to. */
  readonly account: string;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Without a trailing slash. @default https://api.stripe.com */
  readonly baseUrl?: string;
}

/** Stripe understood and said no: 402, or a readable 400, 404 or 422. */
interface StripeRefusal {
  readonly kind: 'refused';
  readonly status: number;
  readonly failure: Failure;
  /** The PaymentIntent that it is about, where Stripe says so. */
  readonly intentId?: string;
}

export type StripeAnswer<T> = { readonly kind: 'done'; readonly value: T } | StripeRefusal;

/**
 * One call with the package, and what it came to.
 *
 * | what the package throws                                        | meaning                                            |
 * |----------------------------------------------------------------|----------------------------------------------------|
 * | StripeCardError, any 402                                       | refused                                            |
 * | `invalid_request_error` with 400, 404 or 422                   | refused                                            |
 * | StripeIdempotencyError: the key has other parameters           | AmbiguousError `processor_answer_mismatch`         |
 * | 409, and code `lock_timeout`: it is being worked on            | AmbiguousError `processor_conflict`                |
 * | StripeAuthenticationError (401), StripePermissionError (403)   | RetryableError `processor_unauthorized`            |
 * | StripeRateLimitError (429, or 400 with code `rate_limit`)      | RetryableError `processor_rate_limited`            |
 * | 5xx                                                            | AmbiguousError `processor_error`                   |
 * | StripeConnectionError                                          | the transport's fault                              |
 * | everything else                                                | AmbiguousError `processor_answer_unexpected`       |
 *
 * Sources: Stripe API reference, "Errors"; "Error codes"; "Advanced error handling"; the package's `Error.js`.
 */
export type CallStripe = <T>(
  call: (stripe: Stripe) => Promise<unknown>,
  schema: z.ZodType<T>,
) => Promise<StripeAnswer<T>>;

export function createStripeApi({ apiKey, clock, baseUrl = STRIPE_URL }: StripeOptions): CallStripe {
  const httpClient = stripeTransport(baseUrl, clock);
  return async (call, schema) => {
    const stripe = new Stripe(await readKey(apiKey), {
      apiVersion: STRIPE_API_VERSION,
      httpClient,
      // Retries are made in one layer, and not in this one.
      maxNetworkRetries: 0,
      telemetry: false,
    });
    let answer: unknown;
    try {
      answer = await call(stripe);
    } catch (error) {
      return refusalIn(error, clock.nowMs());
    }
    const read = schema.safeParse(answer);
    if (read.success) return { kind: 'done', value: read.data };
    throw new AmbiguousError('processor_answer_unreadable', 'The answer is not one that Stripe documents.');
  };
}

/** Without the key nothing can have been sent, whatever it is that keeps it away. */
async function readKey(apiKey: () => Promise<string>): Promise<string> {
  let cause: unknown;
  try {
    const key = await apiKey();
    if (key !== '') return key;
  } catch (error) {
    cause = error;
  }
  throw new RetryableError('processor_key_unavailable', 'The key for Stripe cannot be read now.', { cause });
}

/** No fault carries the package's error as its cause: that holds the whole object, with its client secret. */
function refusalIn(error: unknown, nowMs: number): StripeRefusal {
  if (!(error instanceof Stripe.errors.StripeError)) {
    throw new AmbiguousError('processor_answer_unreadable', 'The package cannot read the answer.');
  }
  const { detail, statusCode: status = 0, rawType, code } = error;
  if (detail instanceof RetryableError || detail instanceof AmbiguousError) throw detail;
  if (code === 'lock_timeout') throw new AmbiguousError('processor_conflict', 'Stripe is busy with this object.');
  const retryAfter = error.headers?.['retry-after'] ?? null;
  if (error instanceof Stripe.errors.StripeRateLimitError) throw faultOfStatus(429, retryAfter, nowMs);
  // Something was sent under this key before: what became of it must be looked up.
  if (error instanceof Stripe.errors.StripeIdempotencyError) throw mismatch('the key is known with other parameters');
  const refused = status === 402 || (REFUSALS.has(status) && rawType === 'invalid_request_error');
  if (!refused) throw faultOfStatus(status, retryAfter, nowMs);
  const intentId = paymentIntentOf.safeParse(error.payment_intent).data?.id;
  const failure = failureOf(error);
  return { kind: 'refused', status, failure, ...(intentId === undefined ? {} : { intentId }) };
}

const REFUSALS: ReadonlySet<number> = new Set([400, 404, 422]);
const paymentIntentOf = z.object({ id: z.string() });

/** A card network's reason says more than `card_declined`, save the one that only says that there is none. */
export function failureOf(error: {
  readonly code?: string | null | undefined;
  readonly decline_code?: string | null | undefined;
  readonly message?: string | null | undefined;
}): Failure {
  const reason = error.decline_code === 'generic_decline' ? undefined : error.decline_code;
  const code = reason || error.code || 'refused';
  return presentable({ code, message: error.message || 'The processor gave no reason.' });
}

/** For calls that Stripe has no reason to refuse. @throws AmbiguousError `processor_answer_unexpected` when it does */
export function mustBeDone<T>(answer: StripeAnswer<T>): T {
  if (answer.kind === 'done') return answer.value;
  throw faultOfStatus(answer.status, null, 0);
}

/** Whole milliseconds that are left of a call's limit; at least 1, so that what is asked too late fails by itself. */
export type TimeLeft = () => number;

/** Starts to run now. */
export function timeLeft(clock: Pick<Clock, 'nowMs'>, { timeoutMs }: CallLimit): TimeLeft {
  const endsAtMs = clock.nowMs() + timeoutMs;
  return () => Math.max(1, Math.trunc(Math.min(timeoutMs, endsAtMs - clock.nowMs())));
}
