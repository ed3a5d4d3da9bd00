import { exampleAmount, isCurrency, parseAmount } from '../lambdas/kernel/currency.ts';
import { CliFailure, ExitCode } from './failure.ts';

/**
 * @returns minor units
 * @throws CliFailure when the text is not an amount in this currency
 */
export function minorUnits(option: string, text: string, currency: string): number {
  const amountMinor = parseAmount(text, currency);
  if (amountMinor !== undefined) return amountMinor;
  const reason = isCurrency(currency)
    ? `must be an amount in ${currency} without separators, for example ${exampleAmount(currency)}`
    : `needs an ISO 4217 currency, not ${currency}`;
  throw new CliFailure(ExitCode.usage, `${option} ${reason}.`);
}
