import type { ProcessorContract } from '../contract.ts';

export const stripeContract = {
  name: 'stripe',
  settings: {
    /** Whose key it is: what payments are pinned to. */
    account: {
      context: 'stripeAccount',
      variable: 'STRIPE_ACCOUNT',
      form: { pattern: /^acct_[A-Za-z0-9]{1,60}$/, allowed: 'the id of a Stripe account, acct_…' },
    },
    /** Where a payer comes back to after an approval at Stripe's. */
    returnUrl: { context: 'stripeReturnUrl', variable: 'STRIPE_RETURN_URL', form: 'address', optional: true },
  },
  secrets: {
    apiKey: {
      construct: 'StripeKey',
      description: 'The secret key of the Stripe account. The operator sets the value.',
      variable: 'STRIPE_KEY_SECRET_ID',
    },
  },
  callbacks: {
    scheme: 'stripe',
    secret: {
      construct: 'StripeCallbackSecret',
      description: 'The signing secret of the Stripe webhook endpoint. The operator sets the value.',
    },
  },
  abilities: {
    /**
     * Stripe looks nothing up by an idempotency key; what is found by our own id in the metadata is found by its search,
     * which has it in less than a minute, and during outages up to an hour later. (Stripe API reference, "Search
     * PaymentIntents".)
     */
    lookup: { kind: 'eventual', maxLagMs: 60 * 60 * 1_000 },
    /** "Keys can be removed after they are at least 24 hours old." (Stripe API reference, "Idempotent requests".) */
    keyRetentionMs: 24 * 60 * 60 * 1_000,
    partialCapture: true,
    partialRefund: true,
    /**
     * Seven days for most cards, some less, and longer only where it is asked for, which we do not; then Stripe cancels it by
     * itself (Stripe documentation, "Place a hold on a payment method").
     */
    holdValidityMs: 7 * 24 * 60 * 60 * 1_000,
  },
  source: {
    pattern: /^[A-Za-z0-9_.-]{1,255}$/,
    allowed: 'a token of your processor: 1 to 255 letters, digits, dots, dashes or _',
  },
} as const satisfies ProcessorContract;
