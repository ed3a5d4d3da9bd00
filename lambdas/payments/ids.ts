import { OperationPrefix } from '../kernel/contract/rows.ts';
import { base32, type Digest, derivedCharacters } from '../kernel/digest.ts';
import { type KeyScope, scopeParts } from '../kernel/idempotency-key.ts';
import type { OperationId, OrderId, PaymentId } from '../kernel/ids.ts';

export const PAYMENT_ID = /^pay_[a-z2-7]{32}$/;

export function parsePaymentId(text: string): PaymentId | undefined {
  return PAYMENT_ID.test(text) ? (text as PaymentId) : undefined;
}

export type ChainId = PaymentId | OrderId;

export function isOrderId(id: ChainId): id is OrderId {
  return id.startsWith('ord_');
}

/**
 * The id is derived from the idempotency key and its scope, so that the idempotency record, the payment and the
 * processor's key are found without an index, and a lost record cannot lead to a second charge.
 */
export function derivePaymentId(digest: Digest, scope: KeyScope): PaymentId {
  return `${OperationPrefix.charge}${derivedCharacters(digest, scopeParts(scope))}` as PaymentId;
}

/**
 * The id is the same for every transport. An HTTP request whose idempotency key is the event id creates a different
 * payment.
 */
export function paymentOfEvent(
  digest: Digest,
  { tenantId: tenant, mode }: Pick<KeyScope, 'tenantId' | 'mode'>,
  eventId: string,
): PaymentId {
  return `${OperationPrefix.charge}${derivedCharacters(digest, ['payment_request', tenant, mode, eventId])}` as PaymentId;
}

export function chargeOperation(paymentId: PaymentId): OperationId {
  return paymentId as string as OperationId;
}

export type ChangeKind = 'capture' | 'cancel' | 'refund';

/** Number of base32 characters taken from the digest (130 bits). */
const CHANGE_ID_LENGTH = 26;

/** The id contains the payment's id, so that change and payment are found without an index. */
export function changeIdOf(
  digest: Digest,
  kind: ChangeKind | 'return',
  paymentId: PaymentId,
  parts: readonly string[],
): OperationId {
  const letters = derivedCharacters(digest, parts).slice(0, CHANGE_ID_LENGTH);
  return `${OperationPrefix[kind]}${paymentId.slice('pay_'.length)}${letters}` as OperationId;
}

export function deriveChangeId(digest: Digest, kind: ChangeKind, paymentId: PaymentId, scope: KeyScope): OperationId {
  return changeIdOf(digest, kind, paymentId, scopeParts(scope));
}

const PART_PREFIXES = { refund: OperationPrefix.refund, dispute: 'dsp_' } as const;
/** The form of a dispute's id, which ends with the processor's id. */
export const DISPUTE_ID = /^dsp_[a-z2-7]{32}_.{1,255}$/;
const PART_ID = /^(?:cap|can|ref|rtn|dsp)_(?<payment>[a-z2-7]{32})(?:[a-z2-7]{26}|_.+)$/;

/**
 * Contains the payment's id, so that no index is needed. If the object was made at the processor, the id ends with the
 * processor's id.
 *
 * @param id Payonce's own id of the refund, or the processor's id
 */
export function partId(kind: keyof typeof PART_PREFIXES, paymentId: PaymentId, id: string): string {
  if (isRefundOf(id, paymentId)) return id;
  return `${PART_PREFIXES[kind]}${paymentId.slice('pay_'.length)}_${id}`;
}

export function paymentOfPart(text: string): PaymentId | undefined {
  const payment = PART_ID.exec(text)?.groups?.['payment'];
  return payment === undefined ? undefined : (`pay_${payment}` as PaymentId);
}

const OWN_REFUND = /^(?:ref|rtn)_[a-z2-7]+$/;

/** Returns whether Payonce made a refund at the processor, according to the operation in the refund's metadata. */
export function isOwnRefund(operation: string | undefined): operation is string {
  return operation !== undefined && OWN_REFUND.test(operation);
}

/** The id of a refund that Payonce did not make is the processor's, in any form. */
export function isRefundOf(refundId: string, paymentId: PaymentId): boolean {
  return isOwnRefund(refundId) && paymentOfPart(refundId) === paymentId;
}

/** Reports whether Payonce made the refund to reverse a stray charge. */
export function isReturn(refundId: string): boolean {
  return refundId.startsWith(OperationPrefix.return);
}

/**
 * Derives the id of the operation that records the result of an inquiry or of a read of the processor's books.
 *
 * @param asked the operation that the inquiry or the read is about
 * @param written the hash of the first transition that the operation writes. A restore can lose this transition but
 * keep the operation's record. The next inquiry then writes a different transition under a different operation id, so
 * the old record does not block it
 */
export function inquiryOperation(digest: Digest, asked: OperationId, written: Uint8Array): OperationId {
  return `${OperationPrefix.inquiry}${derivedCharacters(digest, ['inquiry', asked, base32(written)])}` as OperationId;
}

/**
 * Derives the id of the operation that alerts operators to a contradiction between a payment and the processor's books.
 * @param shown the content of the processor's books
 */
export function contradictionOperation(digest: Digest, paymentId: PaymentId, shown: string): OperationId {
  return `${OperationPrefix.inquiry}${derivedCharacters(digest, ['contradiction', paymentId, shown])}` as OperationId;
}
