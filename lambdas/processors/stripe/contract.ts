import type { ProcessorContract } from '../contract.ts';

export const stripeContract = {
  name: 'stripe',
  modes: ['test', 'live'],
  settings: {
    /** The Stripe account of the API key. Payments are pinned to this account. */
    account: {
      context: 'stripeAccount',
      variable: 'STRIPE_ACCOUNT',
      form: { pattern: /^acct_[A-Za-z0-9]{1,60}$/, allowed: 'the id of a Stripe account, acct_…' },
    },
    /** The URL to which Stripe redirects a payer after an approval. */
    returnUrl: { context: 'stripeReturnUrl', variable: 'STRIPE_RETURN_URL', form: 'page', optional: true },
  },
  secrets: {
    apiKey: {
      construct: 'StripeKey',
      description: 'The secret key. The operator sets it.',
      variable: 'STRIPE_KEY_SECRET_ID',
      issued: true,
    },
  },
  callbacks: {
    scheme: 'stripe',
    secret: 'StripeCallbackSecret',
    issued: true,
  },
  abilities: {
    /**
     * Stripe has no look-up by idempotency key. Instead, Stripe's search finds charges by the operation id in their
     * metadata. The search index lags by less than a minute, or during outages by up to an hour (Stripe API reference,
     * "Search PaymentIntents").
     */
    lookup: { kind: 'eventual', maxLagMs: 60 * 60 * 1_000 },
    /**
     * Stripe: "Keys can be removed after they are at least 24 hours old." (Stripe API reference, "Idempotent
     * requests".)
     */
    keyRetentionMs: 24 * 60 * 60 * 1_000,
    partialCapture: true,
    refund: true,
    partialRefund: true,
    /**
     * Holds are valid for seven days on most cards, and for less on some cards. Payonce does not request longer holds.
     * Stripe cancels an expired hold itself (Stripe documentation, "Place a hold on a payment method").
     */
    holdValidityMs: 7 * 24 * 60 * 60 * 1_000,
  },
  source: {
    pattern: /^[A-Za-z0-9_.-]{1,255}$/,
    allowed: 'a token from your processor: 1 to 255 letters, digits, dots, dashes or _',
  },
} as const satisfies ProcessorContract;
