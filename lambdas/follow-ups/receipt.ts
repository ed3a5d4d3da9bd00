import { MetadataName } from '../kernel/contract/metadata.ts';
import { shownAmount } from '../kernel/currency.ts';
import type { Digest } from '../kernel/digest.ts';
import { mailLine } from '../kernel/mail-line.ts';
import { parseOrderId, paymentOfOrder } from '../orders/ids.ts';

export const RECEIPT_TAG = 'payment-receipt';

export interface PaidPayment {
  readonly id: string;
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
  /** The payment belongs to an order whose confirmation e-mail shows the amount, so no receipt is needed. */
  | { readonly kind: 'order_confirms' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'address'; readonly to: string };

/**
 * A merchant can write any order id into the metadata. Therefore, a payment belongs to a Payonce order only if the
 * payment's id is derived from the order's id.
 */
export function receiptAddress(digest: Digest, { id, metadata }: Pick<PaidPayment, 'id' | 'metadata'>): ReceiptAddress {
  const to = metadata[MetadataName.receiptEmail];
  if (to === undefined) return { kind: 'not_asked_for' };
  const orderId = parseOrderId(metadata[MetadataName.order] ?? '');
  if (orderId !== undefined && paymentOfOrder(digest, orderId) === id) return { kind: 'order_confirms' };
  return isEmailAddress(to) ? { kind: 'address', to } : { kind: 'malformed' };
}

/**
 * Renders the receipt from immutable fields only, so every attempt sends the same text. Each field whose text the
 * merchant chooses is on its own line. If this text contains a link, the field is omitted, because the e-mail is sent
 * from the operator's address.
 */
export function receiptEmail(payment: PaidPayment): { readonly subject: string; readonly text: string } {
  const { id, amount_captured: amountMinor, currency, reference, description, created, livemode } = payment;
  const lines = [
    `Paid: ${shownAmount(amountMinor, currency)}`,
    `Date: ${new Date(created * 1000).toISOString().slice(0, 10)}`,
    `Payment: ${id}`,
    ...lineOf('Reference', reference),
    ...lineOf('For', description),
    ...(livemode ? [] : ['', 'This was a test: no money was charged.']),
  ];
  return { subject: 'Your receipt', text: ['Thank you for your payment.', '', ...lines, ''].join('\n') };
}

function lineOf(label: string, text: string | null): readonly string[] {
  const line = text === null ? undefined : mailLine(text);
  return line === undefined ? [] : [`${label}: ${line}`];
}

/** Maximum length of an e-mail address (RFC 5321, section 4.5.3.1.3, without the angle brackets). */
const MAX_EMAIL_LENGTH = 254;
/**
 * Accepts only addresses that the payload of a dead letter accepts, so that a dead-lettered receipt can be redriven.
 */
const EMAIL = /^(?!\.)[A-Za-z0-9_'+.-]{0,63}[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}$/;

function isEmailAddress(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && !text.includes('..') && EMAIL.test(text);
}
