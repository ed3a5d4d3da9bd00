import type { Failure } from '../../payments/domain/payment.ts';

/**
 * Stripe counts most currencies in the minor unit of ISO 4217, as Payonce does. These are the exceptions of its page
 * "Supported currencies", sections "Zero-decimal currencies", "Three-decimal currencies" and "Special cases".
 */
const HUNDREDFOLD = new Set(['ISK', 'UGX']); // Without decimals since, but still sent with two, which must be 00.
const HUNDREDTH = new Set(['MGA']); // ISO gives the ariary two decimals, Stripe none.
const LAST_DIGIT_ZERO = new Set(['BHD', 'JOD', 'KWD', 'OMR', 'TND']);
/** Three decimals by ISO, and none of those that Stripe says it takes with three: what it would make of them is not known. */
const NOT_TAKEN = new Set(['IQD', 'LYD']);

export type StripeAmount =
  | { readonly kind: 'amount'; readonly amount: number }
  | { readonly kind: 'unsupported'; readonly failure: Failure };

/** How Stripe counts an amount. What it cannot count exactly is refused here, and never rounded. */
export function stripeAmount(amountMinor: number, currency: string): StripeAmount {
  if (NOT_TAKEN.has(currency)) {
    return unsupported('currency_not_supported', `The processor does not take ${currency}.`);
  }
  if (HUNDREDFOLD.has(currency)) return { kind: 'amount', amount: amountMinor * 100 };
  if (HUNDREDTH.has(currency)) {
    if (amountMinor % 100 === 0) return { kind: 'amount', amount: amountMinor / 100 };
    return unsupported('amount_not_supported', `The processor takes only whole units of ${currency}.`);
  }
  if (LAST_DIGIT_ZERO.has(currency) && amountMinor % 10 !== 0) {
    return unsupported('amount_not_supported', `The processor takes ${currency} only with a last digit of 0.`);
  }
  return { kind: 'amount', amount: amountMinor };
}

/**
 * The amount in our minor units.
 *
 * @param currency upper case
 * @returns undefined when it is no whole number of them
 */
export function minorAmount(amount: number, currency: string): number | undefined {
  const amountMinor = HUNDREDFOLD.has(currency) ? amount / 100 : HUNDREDTH.has(currency) ? amount * 100 : amount;
  return Number.isSafeInteger(amountMinor) ? amountMinor : undefined;
}

function unsupported(code: string, message: string): StripeAmount {
  return { kind: 'unsupported', failure: { code, message } };
}
