import { shownAmount } from '../kernel/currency.ts';
import type { Digest } from '../kernel/digest.ts';
import { parseOrderId, paymentOfOrder } from '../kernel/ids.ts';

/** What whoever counts e-mails knows a receipt by. */
export const RECEIPT_TAG = 'payment-receipt';

/** The key of a payment's metadata that says where its receipt goes. */
const RECEIPT_EMAIL = 'receipt_email';

/** What a receipt is made from: a payment as its `payment.completed` shows it. */
export interface PaidPayment {
  readonly id: string;
  /** Minor units. */
  readonly amount_captured: number;
  readonly currency: string;
  readonly reference: string | null;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Unix seconds. */
  readonly created: number;
  readonly livemode: boolean;
}

/** In order of precedence. */
export type ReceiptAddress =
  | { readonly kind: 'not_asked_for' }
  /** The order that took the payment sends a confirmation with the amount: a second e-mail would say nothing new. */
  | { readonly kind: 'order_confirms' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'address'; readonly to: string };

/**
 * Where a payment's receipt goes, by `metadata.receipt_email`. What a merchant calls an order has no say: only a payment
 * whose id follows from the order that it names was taken by that order.
 */
export function receiptAddress(digest: Digest, { id, metadata }: Pick<PaidPayment, 'id' | 'metadata'>): ReceiptAddress {
  const to = metadata[RECEIPT_EMAIL];
  if (to === undefined) return { kind: 'not_asked_for' };
  const orderId = parseOrderId(metadata['order'] ?? '');
  if (orderId !== undefined && paymentOfOrder(digest, orderId) === id) return { kind: 'order_confirms' };
  return isEmailAddress(to) ? { kind: 'address', to } : { kind: 'malformed' };
}

/** The receipt, from what never changes: the same on every attempt. */
export function receiptLetter(payment: PaidPayment): { readonly subject: string; readonly text: string } {
  const { id, amount_captured: amountMinor, currency, reference, description, created, livemode } = payment;
  const lines = [
    `Paid: ${shownAmount(amountMinor, currency)}`,
    `Date: ${new Date(created * 1000).toISOString().slice(0, 10)}`,
    `Payment: ${id}`,
    ...(reference === null ? [] : [`Reference: ${reference}`]),
    ...(description === null ? [] : [`For: ${description}`]),
    ...(livemode ? [] : ['', 'This was a test: no money was taken.']),
  ];
  return { subject: 'Your receipt', text: ['Thank you for your payment.', '', ...lines, ''].join('\n') };
}

/** The longest address that mail can be sent to (RFC 5321, 4.5.3.1.3, without its brackets). */
const MAX_EMAIL_LENGTH = 254;
/** No more than what a dead letter may hold, so that a receipt that was set aside can be sent after all. */
const EMAIL = /^(?!\.)[A-Za-z0-9_'+.-]{0,63}[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}$/;

function isEmailAddress(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && !text.includes('..') && EMAIL.test(text);
}
