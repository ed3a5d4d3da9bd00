import type { Failure } from '../../payments/domain/payment.ts';

/**
 * Exceptions to Stripe's units. For most currencies, Stripe uses the minor units of ISO 4217, as Payonce does. Stripe's
 * page "Supported currencies" lists the exceptions in the sections "Zero-decimal currencies", "Three-decimal
 * currencies" and "Special cases".
 */
const HUNDREDFOLD = new Set(['ISK', 'UGX']); // No decimals, but Stripe expects two, which must be 00.
const HUNDREDTH = new Set(['MGA']); // The ariary has two decimals in ISO 4217 but none at Stripe.
const LAST_DIGIT_ZERO = new Set(['BHD', 'JOD', 'KWD', 'OMR', 'TND']);
/**
 * Currencies with three decimals in ISO 4217 that are not in Stripe's list of three-decimal currencies. Stripe does not
 * document their unit.
 */
const UNSUPPORTED_CURRENCIES = new Set(['IQD', 'LYD']);

export type StripeAmount =
  | { readonly kind: 'amount'; readonly amount: number }
  | { readonly kind: 'unsupported'; readonly failure: Failure };

/**
 * Never rounds: if Stripe cannot represent an amount exactly, the amount is unsupported.
 *
 * @param currency upper case
 */
export function stripeAmount(amountMinor: number, currency: string): StripeAmount {
  if (UNSUPPORTED_CURRENCIES.has(currency)) {
    return unsupported('currency_not_supported', `The processor does not accept ${currency}.`);
  }
  if (HUNDREDFOLD.has(currency)) return { kind: 'amount', amount: amountMinor * 100 };
  if (HUNDREDTH.has(currency)) {
    if (amountMinor % 100 === 0) return { kind: 'amount', amount: amountMinor / 100 };
    return unsupported('amount_not_supported', `The processor accepts only whole units of ${currency}.`);
  }
  if (LAST_DIGIT_ZERO.has(currency) && amountMinor % 10 !== 0) {
    return unsupported('amount_not_supported', `At this processor, amounts in ${currency} must end in 0.`);
  }
  return { kind: 'amount', amount: amountMinor };
}

/** @param currency upper case */
export function minorAmount(amount: number, currency: string): number | undefined {
  const amountMinor = HUNDREDFOLD.has(currency) ? amount / 100 : HUNDREDTH.has(currency) ? amount * 100 : amount;
  return Number.isSafeInteger(amountMinor) ? amountMinor : undefined;
}

/**
 * Rounds a fee to the nearest amount that is a whole number of minor units. Only charges, refunds and payouts must be
 * whole (Stripe, "Supported currencies", "Special cases"). A fee is rounded to Stripe's own unit (Stripe support, "What
 * rules do you use for rounding Stripe fees?"), which can be a hundredth of a minor unit.
 *
 * @param amount in Stripe's unit @param currency upper case
 */
export function roundedFee(amount: number, currency: string): number {
  return HUNDREDFOLD.has(currency) ? Math.round(amount / 100) * 100 + 0 : amount; // Adding 0 turns -0 into 0.
}

function unsupported(code: string, message: string): StripeAmount {
  return { kind: 'unsupported', failure: { code, message } };
}
