import { decimalsOf } from './currency.ts';
import type { Order } from './order.ts';
import type { OrderDetails } from './order-transition.ts';

/** What whoever counts e-mails knows the confirmation by. */
export const CONFIRMATION_TAG = 'order-confirmation';

/** The e-mail that confirms an order, from what never changes: the same on every attempt. */
export function confirmationLetter(
  { id, amountMinor, currency }: Order,
  { items }: OrderDetails,
): { readonly subject: string; readonly text: string } {
  const lines = items.map(({ sku, quantity }) => `  ${quantity} x ${sku}`);
  const total = `${decimal(amountMinor, decimalsOf(currency))} ${currency}`;
  const text = [`Thank you for your order ${id}.`, '', ...lines, '', `Charged: ${total}`, ''].join('\n');
  return { subject: `Your order ${id}`, text };
}

function decimal(amountMinor: number, decimals: number): string {
  if (decimals === 0) return String(amountMinor);
  const digits = String(amountMinor).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
