import { shownAmount } from '../../kernel/currency.ts';
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
  const total = shownAmount(amountMinor, currency);
  const text = [`Thank you for your order ${id}.`, '', ...lines, '', `Charged: ${total}`, ''].join('\n');
  return { subject: `Your order ${id}`, text };
}
