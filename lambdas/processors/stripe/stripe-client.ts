import type { Stripe } from 'stripe';
import * as z from 'zod';
import { defined } from '../../kernel/defined.ts';
import { RetryableError } from '../../kernel/faults.ts';
import { type BreakerSettings, createCircuitBreaker } from '../../outbound/circuit-breaker.ts';
import type { ChargeOrder, ChargeOutcome, Processor } from '../../payments/use/processor.ts';
import { chargeUnknown, isProcessorUnhealthy, mismatch } from '../answers.ts';
import { stripeContract } from './contract.ts';
import { type StripeAmount, stripeAmount } from './stripe-amounts.ts';
import {
  type CallStripe,
  createStripeApi,
  requireSuccess,
  STRIPE_API_VERSION,
  STRIPE_URL,
  type StripeOptions,
  type TimeLeft,
  timeLeft,
} from './stripe-api.ts';
import { readCharge } from './stripe-books.ts';
import { EXPAND_FEE, findChange, makeChange } from './stripe-change.ts';
import { outcomeOf, stripeMetadata } from './stripe-charge.ts';
import { intentObject } from './stripe-objects.ts';
import { searchIntents } from './stripe-search.ts';

// Every function that uses the client also uses the books, so this file exports both.
export { createStripeBooks } from './stripe-books.ts';

export interface StripeClientOptions extends StripeOptions {
  /**
   * The URL to which Stripe redirects a payer after an approval. Stripe requires it for payment methods that redirect.
   *
   * @default payment methods that redirect are not accepted, and a charge that requires the payer's approval is
   * declined: the payer could not approve it, and the intent would stay open
   */
  readonly returnUrl?: string;
  /** @default five consecutive failures open the breaker for 10 seconds */
  readonly breaker?: BreakerSettings;
  /** Called each time the breaker opens, including after a failed probe. */
  readonly onBreakerOpened?: () => void;
}

/**
 * Default settings of the breaker. Two requests, each with two failed attempts, and one more failure open the breaker.
 * It stays open for a shorter time than a client waits.
 */
const DEFAULT_BREAKER: BreakerSettings = { consecutiveFailures: 5, openForMs: 10_000 };

/** Timeout of the probe, in milliseconds. A healthy Stripe responds faster, because the probe lists only one intent. */
const PROBE_TIMEOUT_MS = 2_000;
const probeAnswer = z.object({ object: z.literal('list') });

/**
 * Creates a client of Stripe's PaymentIntents; the charge id is the intent's id. Each request is sent once; the caller
 * decides about retries. The idempotency key is the operation id, the same for every attempt.
 */
export function createStripeClient(options: StripeClientOptions): Processor {
  const { account, mode, clock, returnUrl } = options;
  const call = createStripeApi(options);
  const breaker = createCircuitBreaker({
    settings: options.breaker ?? DEFAULT_BREAKER,
    probe: async () => {
      const limit = { timeout: PROBE_TIMEOUT_MS };
      requireSuccess(await call((stripe) => stripe.paymentIntents.list({ limit: 1 }, limit), probeAnswer));
    },
    isFailure: isProcessorUnhealthy,
    clock,
    ...defined({ onOpened: options.onBreakerOpened }),
  });

  return {
    name: stripeContract.name,
    mode,
    account,
    endpoint: options.baseUrl ?? STRIPE_URL,
    apiVersion: STRIPE_API_VERSION,
    abilities: stripeContract.abilities,
    ready: () => breaker.ready(),
    charge: (order, limit) =>
      breaker.write(() => charge(call, order, order.returnUrl ?? returnUrl, timeLeft(clock, limit))),
    findCharge: (order, limit) => breaker.read(() => findCharge(call, account, order, timeLeft(clock, limit))),
    change: (order, limit) => breaker.write(() => makeChange(call, order, timeLeft(clock, limit))),
    findChange: (order, limit) => breaker.read(() => findChange(call, order, timeLeft(clock, limit))),
    showCharge: (chargeId, limit) =>
      breaker.read(async () => {
        const shown = await readCharge(call, chargeId, timeLeft(clock, limit));
        if (shown === undefined) throw chargeUnknown();
        return shown;
      }),
  };
}

async function charge(
  call: CallStripe,
  order: ChargeOrder,
  returnUrl: string | undefined,
  left: TimeLeft,
): Promise<ChargeOutcome> {
  const amount = stripeAmount(order.amountMinor, order.currency);
  if (amount.kind === 'unsupported') return { kind: 'rejected', failure: amount.failure };
  const options = { idempotencyKey: order.operationId, timeout: left() };
  const params = intentParams(order, amount, returnUrl);
  const answer = await call((stripe) => stripe.paymentIntents.create(params, options), intentObject);
  if (answer.kind === 'done') return outcomeOf(order, answer.value);
  const { status, failure, intentId } = answer;
  const named = defined({ chargeId: intentId });
  return { kind: status === 402 ? 'declined' : 'rejected', failure, ...named };
}

function intentParams(
  order: ChargeOrder,
  { amount }: Extract<StripeAmount, { kind: 'amount' }>,
  returnUrl: string | undefined,
): Stripe.PaymentIntentCreateParams {
  return {
    amount,
    currency: order.currency.toLowerCase(),
    payment_method: order.source,
    capture_method: order.capture,
    confirm: true,
    automatic_payment_methods: { enabled: true, allow_redirects: returnUrl === undefined ? 'never' : 'always' },
    ...(returnUrl === undefined ? { error_on_requires_action: true } : { return_url: returnUrl }),
    metadata: stripeMetadata(order),
    expand: EXPAND_FEE,
  };
}

/** The status is read from the intent itself, because the search index may be outdated. */
async function findCharge(
  call: CallStripe,
  account: string,
  order: ChargeOrder,
  left: TimeLeft,
): Promise<ChargeOutcome | { readonly kind: 'absent' }> {
  const [intentId, ...more] = await searchIntents(call, 'operation', order.operationId, left);
  if (intentId === undefined) {
    await assertConfiguredAccount(call, account, left);
    return { kind: 'absent' };
  }
  // An operator must handle two charges under one key: selecting one charge would hide the other.
  if (more.length > 0) throw mismatch(`The processor has ${more.length + 1} charges for one operation.`);
  const options = { timeout: left() };
  const answer = await call(
    (stripe) => stripe.paymentIntents.retrieve(intentId, { expand: EXPAND_FEE }, options),
    intentObject,
  );
  return outcomeOf(order, requireSuccess(answer));
}

const accountObject = z.object({ id: z.string().min(1), object: z.literal('account') });

/**
 * Verifies that the API key belongs to the configured account (Stripe API reference, "Retrieve account"). With the key
 * of another account, a search would find nothing, which would look like proof that there is no charge. An account has
 * the same id in both modes; a key of the other mode is detected by its prefix before it is used.
 *
 * @throws RetryableError `processor_account_other` if the key belongs to another account, or the fault of the request
 */
async function assertConfiguredAccount(call: CallStripe, account: string, left: TimeLeft): Promise<void> {
  const options = { timeout: left() };
  const { id } = requireSuccess(await call((stripe) => stripe.accounts.retrieveCurrent({}, options), accountObject));
  if (id !== account)
    throw new RetryableError('processor_account_other', `The API key for Stripe belongs to account ${id}.`);
}
