import type { Stripe } from 'stripe';
import * as z from 'zod';
import { type BreakerSettings, createCallGuard } from '../../outbound/circuit-breaker.ts';
import type { ChargeOrder, ChargeOutcome, Processor } from '../../payments/use/processor.ts';
import { mismatch, tellsOfTrouble } from '../answers.ts';
import { stripeContract } from './contract.ts';
import { mustBeOurAccount } from './stripe-account.ts';
import { type StripeAmount, stripeAmount } from './stripe-amounts.ts';
import {
  type CallStripe,
  createStripeApi,
  mustBeDone,
  STRIPE_API_VERSION,
  STRIPE_URL,
  type StripeOptions,
  type TimeLeft,
  timeLeft,
} from './stripe-api.ts';
import { makeChange, seekChange, WITH_FEE } from './stripe-change.ts';
import { outcomeOf, stripeMetadata } from './stripe-charge.ts';
import { intentObject } from './stripe-objects.ts';
import { searchIntents } from './stripe-search.ts';

export interface StripeClientOptions extends StripeOptions {
  /**
   * Where a payer comes back to after an approval; Stripe redirects nobody without it.
   *
   * @default payment methods that redirect are not taken, and a charge that its payer must approve is declined: an intent
   * that nobody can approve would stay open for ever
   */
  readonly returnUrl?: string;
  /** @default five failures in a row open the breaker for 10 seconds */
  readonly breaker?: BreakerSettings;
  /** Called each time that the breaker opens, after a failed probe too. */
  readonly onBreakerOpened?: () => void;
}

/** Two requests in a row that each failed twice, and one more; then a pause that a waiting client still lives through. */
const DEFAULT_BREAKER: BreakerSettings = { consecutiveFailures: 5, openForMs: 10_000 };

/** A list of one: an answer later than this is a bad sign by itself. Milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;
const probeAnswer = z.object({ object: z.literal('list') });

/**
 * Stripe, by PaymentIntents; a charge goes by the intent's id. Sends each call once: whether to send twice is the engine's
 * to decide. The idempotency key is the operation's id, the same on every attempt.
 */
export function createStripeClient(options: StripeClientOptions): Processor {
  const { account, clock, returnUrl } = options;
  const call = createStripeApi(options);
  const guard = createCallGuard({
    settings: options.breaker ?? DEFAULT_BREAKER,
    probe: async () => {
      const limit = { timeout: PROBE_TIMEOUT_MS };
      mustBeDone(await call((stripe) => stripe.paymentIntents.list({ limit: 1 }, limit), probeAnswer));
    },
    isFailure: tellsOfTrouble,
    clock,
    ...(options.onBreakerOpened === undefined ? {} : { onOpened: options.onBreakerOpened }),
  });

  return {
    name: stripeContract.name,
    account,
    endpoint: options.baseUrl ?? STRIPE_URL,
    apiVersion: STRIPE_API_VERSION,
    abilities: stripeContract.abilities,
    ready: () => guard.ready(),
    charge: (order, limit) => guard.write(() => charge(call, order, returnUrl, timeLeft(clock, limit))),
    findCharge: (order, limit) => guard.read(() => findCharge(call, account, order, timeLeft(clock, limit))),
    change: (order, limit) => guard.write(() => makeChange(call, order, timeLeft(clock, limit))),
    findChange: (order, limit) => guard.read(() => seekChange(call, order, timeLeft(clock, limit))),
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
  const named = intentId === undefined ? {} : { chargeId: intentId };
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
    expand: WITH_FEE,
  };
}

/** The search says which intent it is; how it stands is read from the intent itself, which is never behind. */
async function findCharge(
  call: CallStripe,
  account: string,
  order: ChargeOrder,
  left: TimeLeft,
): Promise<ChargeOutcome | { readonly kind: 'absent' }> {
  const [intentId, ...more] = await searchIntents(call, 'operation', order.operationId, left);
  if (intentId === undefined) {
    await mustBeOurAccount(call, account, left);
    return { kind: 'absent' };
  }
  // A key that made two charges is for a person to look at; choosing one would hide the other.
  if (more.length > 0) throw mismatch(`the key made ${more.length + 1} charges`);
  const options = { timeout: left() };
  const answer = await call(
    (stripe) => stripe.paymentIntents.retrieve(intentId, { expand: WITH_FEE }, options),
    intentObject,
  );
  return outcomeOf(order, mustBeDone(answer));
}
