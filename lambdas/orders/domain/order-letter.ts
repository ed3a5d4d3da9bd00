import { shownAmount } from '../../kernel/currency.ts';
import type { Order } from './order.ts';
import type { OrderDetails } from './order-transition.ts';

/** The tag of confirmation e-mails in the mailer's statistics. */
export const CONFIRMATION_TAG = 'order-confirmation';

/** The confirmation e-mail. It is built from fields that never change, so it is the same for every attempt. */
export function confirmationLetter(
  { id, amountMinor, currency }: Order,
  { items }: OrderDetails,
): { readonly subject: string; readonly text: string } {
  const lines = items.map(({ sku, quantity }) => `  ${quantity} x ${sku}`);
  const total = shownAmount(amountMinor, currency);
  const text = [`Thank you for your order ${id}.`, '', ...lines, '', `Charged: ${total}`, ''].join('\n');
  return { subject: `Your order ${id}`, text };
}
