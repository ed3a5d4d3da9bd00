import { OperationPrefix } from './contract/rows.ts';
import type { Digest } from './digest.ts';
import { base32 } from './digest.ts';
import type { IdempotencyKey } from './idempotency-key.ts';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** `pay_…`: derived from the request that made the payment. */
export type PaymentId = Branded<'PaymentId'>;

/** `ord_…`: derived from the request that made the order. */
export type OrderId = Branded<'OrderId'>;

/** The chain of transitions in the Ledger that a row is derived from. */
export type ChainId = PaymentId | OrderId;

export function isOrderId(id: ChainId): id is OrderId {
  return id.startsWith('ord_');
}

/** Names one thing that must happen once; the key at the processor, the same on every attempt. A payment's own id is the operation id of its charge. */
export type OperationId = Branded<'OperationId'>;

/** The owner of a claim: new for every attempt, so that a stale owner's write fails its condition (a fencing token). */
export type OwnerToken = Branded<'OwnerToken'>;

export type TenantId = Branded<'TenantId'>;

export type Mode = 'test' | 'live';

/** The range in which an idempotency key is unique: one tenant, mode, method and resolved path. */
export interface KeyScope {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly method: string;
  /** The path as called, with its ids in place, for example `/v1/payments`. */
  readonly path: string;
  readonly key: IdempotencyKey;
}

/** What an operator's idempotency key is good for. */
export interface OperatorKeyScope extends Omit<KeyScope, 'tenantId' | 'mode'> {
  /** The same for all keys of one person. */
  readonly person: string;
}

/** 160 of the 256 bits, 32 letters: cannot be guessed and does not collide. */
const ID_BYTES = 20;
export const PAYMENT_ID = /^pay_[a-z2-7]{32}$/;

/**
 * The id of the payment that this request makes. It is derived from the request, so that the idempotency record, the
 * payment and the processor's key are found without an index, and a lost record cannot become a second charge.
 */
export function derivePaymentId(digest: Digest, scope: KeyScope): PaymentId {
  return `${OperationPrefix.charge}${derived(digest, scopeParts(scope))}` as PaymentId;
}

/**
 * The id of the payment that an event asks for: the same over every transport. A request over HTTP with the same id as its key is
 * another payment.
 */
export function paymentOfEvent(
  digest: Digest,
  { tenantId: tenant, mode }: Pick<KeyScope, 'tenantId' | 'mode'>,
  eventId: string,
): PaymentId {
  return `${OperationPrefix.charge}${derived(digest, ['payment_request', tenant, mode, eventId])}` as PaymentId;
}

/** The operation that charges a payment has the payment's id. */
export function chargeOperation(paymentId: PaymentId): OperationId {
  return paymentId as string as OperationId;
}

export type ChangeKind = 'capture' | 'cancel' | 'refund';

/** 130 bits. */
const CHANGE_LETTERS = 26;

/**
 * The id of the capture, cancellation or refund that this request makes. It contains the payment's id, so that both are
 * found without an index.
 */
export function deriveChangeId(digest: Digest, kind: ChangeKind, paymentId: PaymentId, scope: KeyScope): OperationId {
  const letters = derived(digest, scopeParts(scope)).slice(0, CHANGE_LETTERS);
  return `${OperationPrefix[kind]}${paymentId.slice('pay_'.length)}${letters}` as OperationId;
}

const PART_PREFIXES = { refund: OperationPrefix.refund, dispute: 'dsp_' } as const;
/** With the processor's id at its end. */
export const DISPUTE_ID = /^dsp_[a-z2-7]{32}_.{1,255}$/;
const PART_ID = /^(?:cap|can|ref|rtn|dsp)_(?<payment>[a-z2-7]{32})(?:[a-z2-7]{26}|_.+)$/;

/**
 * The id of a refund or a dispute in the API. It contains the payment's id, so that no index is needed. One that was made at
 * the processor has the processor's id behind it.
 *
 * @param id Payonce's own id of the refund, or the processor's id
 */
export function partId(kind: keyof typeof PART_PREFIXES, paymentId: PaymentId, id: string): string {
  if (isRefundOf(id, paymentId)) return id;
  return `${PART_PREFIXES[kind]}${paymentId.slice('pay_'.length)}_${id}`;
}

/** @returns the payment of a capture, a cancellation, a refund or a dispute; undefined when `text` does not have the form of such an id */
export function paymentOfPart(text: string): PaymentId | undefined {
  const payment = PART_ID.exec(text)?.groups?.['payment'];
  return payment === undefined ? undefined : (`pay_${payment}` as PaymentId);
}

/** The id of the order that this request creates. It never changes. */
export function deriveOrderId(digest: Digest, scope: KeyScope): OrderId {
  return `${OperationPrefix.order}${derived(digest, scopeParts(scope))}` as OrderId;
}

export const ORDER_ID = /^ord_[a-z2-7]{32}$/;

/** @returns undefined when `text` is not of the form of an order id */
export function parseOrderId(text: string): OrderId | undefined {
  return ORDER_ID.test(text) ? (text as OrderId) : undefined;
}

/** The operation that makes an order has the order's id. */
export function orderOperation(orderId: OrderId): OperationId {
  return orderId as string as OperationId;
}

/** The one payment that an order takes. */
export function paymentOfOrder(digest: Digest, orderId: OrderId): PaymentId {
  return `pay_${derived(digest, ['payment_of_order', orderId])}` as PaymentId;
}

/** The change that returns an order's money. @param attempt 1 for the first; the next one only after the previous one provably failed */
export function reversalOfOrder(
  digest: Digest,
  kind: 'cancel' | 'refund',
  paymentId: PaymentId,
  attempt: number,
): OperationId {
  const letters = derived(digest, ['reversal_of_order', kind, paymentId, String(attempt)]).slice(0, CHANGE_LETTERS);
  return `${OperationPrefix[kind]}${paymentId.slice('pay_'.length)}${letters}` as OperationId;
}

/** The void of an authorization that was never captured. @param attempt 1 for the first; the next one only after the previous one provably failed */
export function expiryOfHold(digest: Digest, paymentId: PaymentId, attempt: number): OperationId {
  const letters = derived(digest, ['expiry_of_hold', paymentId, String(attempt)]).slice(0, CHANGE_LETTERS);
  return `${OperationPrefix.cancel}${paymentId.slice('pay_'.length)}${letters}` as OperationId;
}

const ORDER_STEPS = { reserve: 'stk_', confirm: 'eml_', credit: 'crd_' } as const;

/** The key of one step of an order at its party: the same on every attempt. */
export function orderStepOperation(digest: Digest, step: keyof typeof ORDER_STEPS, orderId: OrderId): OperationId {
  return `${ORDER_STEPS[step]}${derived(digest, ['order_step', step, orderId])}` as OperationId;
}

const OWN_REFUND = /^(?:ref|rtn)_[a-z2-7]+$/;

/** Whether a refund at the processor, by the operation that its metadata name, was made by us. */
export function isOwnRefund(operation: string | undefined): operation is string {
  return operation !== undefined && OWN_REFUND.test(operation);
}

/**
 * The operation that returns a charge which its payment must not have. It contains the payment's id.
 *
 * @param attempt 1 for the first; the next only after the previous one has ended
 * @param amountMinor the refunded amount, 0 for a void: a processor refuses a known key with another body. Minor units
 */
export function returnOperation(
  digest: Digest,
  paymentId: PaymentId,
  chargeId: string,
  { attempt, amountMinor }: { readonly attempt: number; readonly amountMinor: number },
): OperationId {
  const parts = ['return', paymentId, chargeId, String(attempt), String(amountMinor)];
  const letters = derived(digest, parts).slice(0, CHANGE_LETTERS);
  return `${OperationPrefix.return}${paymentId.slice('pay_'.length)}${letters}` as OperationId;
}

/** Whether Payonce made the refund for this payment. A processor's own ids of refunds have any form. */
export function isRefundOf(refundId: string, paymentId: PaymentId): boolean {
  return isOwnRefund(refundId) && paymentOfPart(refundId) === paymentId;
}

/** Whether Payonce made the refund to return a stray charge. */
export function isReturn(refundId: string): boolean {
  return refundId.startsWith(OperationPrefix.return);
}

/**
 * The operation that finds out what became of a payment or a change that was answered "not known yet".
 *
 * @param written the hash of the first transition that it writes. A restored copy can have the record of an earlier look without its
 *   transition; the place in the chain is then taken by another one, under another id
 */
export function inquiryOperation(digest: Digest, asked: OperationId, written: Uint8Array): OperationId {
  return `${OperationPrefix.inquiry}${derived(digest, ['inquiry', asked, base32(written)])}` as OperationId;
}

/** The operation that tells operators of one contradiction between a processor's books and a payment. @param shown what the books show */
export function contradictionOperation(digest: Digest, paymentId: PaymentId, shown: string): OperationId {
  return `${OperationPrefix.inquiry}${derived(digest, ['contradiction', paymentId, shown])}` as OperationId;
}

/** The operation that tells operators of an order whose shop the deployment does not have. */
export function elsewhereOperation(digest: Digest, orderId: OrderId): OperationId {
  return `${OperationPrefix.inquiry}${derived(digest, ['parties_elsewhere', orderId])}` as OperationId;
}

/** The operation that records one event of a processor: the same for every delivery, at any address. */
export function callbackOperation(digest: Digest, source: string, eventId: string): OperationId {
  return `${OperationPrefix.callback}${derived(digest, ['callback', source, eventId])}` as OperationId;
}

/** The operation that tries an orphaned callback again and gets it a payment. */
export function adoptionOperation(digest: Digest, orphan: OperationId): OperationId {
  return `${OperationPrefix.adoption}${derived(digest, ['adoption', orphan])}` as OperationId;
}

/** The operation that puts one event on the bus. */
export function relayOperation(eventId: string): OperationId {
  return `rel_${eventId}` as OperationId;
}

/** The operation that publishes a part of the Ledger's outcomes again. @param position of the part */
export function republishOperation(position: string): OperationId {
  return `rpb_${position}` as OperationId;
}

/** The operation that makes the call of a dead letter again. */
export function redriveOperation(letterId: string): OperationId {
  return `rdr_${letterId}` as OperationId;
}

/** The operation that writes one event into the Views. */
export function projectionOperation(eventId: string): OperationId {
  return `prj_${eventId}` as OperationId;
}

/** The operation that makes the next attempt of a webhook's delivery. */
export function attemptOperation(endpointId: string, deliveryId: string): OperationId {
  return `wha_${endpointId}_${deliveryId}` as OperationId;
}

/** The operation that makes the next page of a replay of webhooks. */
export function replayOperation(replayId: string): OperationId {
  return `whr_${replayId}` as OperationId;
}

/** The operation by which one consumer processes one event: the same for every delivery, by any route. */
export function consumerOperation(digest: Digest, handler: string, eventId: string): OperationId {
  return `${OperationPrefix.businessKey}${derived(digest, ['consumer', handler, eventId])}` as OperationId;
}

/** The operation of one business key at one consumer: permanently the same, for any event that requests it. */
export function businessOperation(
  digest: Digest,
  handler: string,
  key: Pick<KeyScope, 'tenantId' | 'mode'> & { readonly businessKey: string },
): OperationId {
  return `${OperationPrefix.businessKey}${derived(digest, ['business', handler, key.tenantId, key.mode, key.businessKey])}` as OperationId;
}

/** The operation by which the clock's run is accepted, whichever firing of its schedule asks for it. */
export function clockedRunOperation(digest: Digest, runId: string): OperationId {
  return `${OperationPrefix.acceptedRun}${derived(digest, ['clocked_run', runId])}` as OperationId;
}

/** The operation by which a run is accepted that an operator asks for by this request. */
export function deriveRunOperation(digest: Digest, scope: OperatorKeyScope): OperationId {
  return `${OperationPrefix.acceptedRun}${derived(digest, ['run_by_hand', ...operatorParts(scope)])}` as OperationId;
}

/** The operation by which the executor asks for a run. */
export function runCallOperation(digest: Digest, runId: string): OperationId {
  return `${OperationPrefix.askedRun}${derived(digest, ['run_call', runId])}` as OperationId;
}

/** The request to a service of the team that takes effect once. @param parts scope, caller, method, path and key */
export function serviceOperation(digest: Digest, parts: readonly string[]): OperationId {
  return `svc_${derived(digest, ['service', ...parts])}` as OperationId;
}

/** The operation that works on the next page of a run. */
export function runPageOperation(runId: string): OperationId {
  return `rpg_${runId}` as OperationId;
}

/** The operator's decision that this request records: permanently the same. */
export function deriveDecisionId(digest: Digest, scope: OperatorKeyScope): OperationId {
  return `${OperationPrefix.decision}${derived(digest, operatorParts(scope))}` as OperationId;
}

/** Of a correction, a decision or an annotation. It does not contain the payment's id; the record of its operation does. */
const OPERATOR_EFFECT_ID = /^(?:cor|dec|ann)_[a-z2-7]{32}$/;

/** @returns undefined when `text` is not of the form of the id of a correction, a decision or an annotation */
export function parseOperatorEffectId(text: string): OperationId | undefined {
  return OPERATOR_EFFECT_ID.test(text) ? (text as OperationId) : undefined;
}

/** The request that makes a key. */
export function deriveKeyRequestId(digest: Digest, scope: OperatorKeyScope): OperationId {
  return `${OperationPrefix.keyRequest}${derived(digest, operatorParts(scope))}` as OperationId;
}

/** The request that changes a limit of a tenant. */
export function deriveLimitRequestId(digest: Digest, scope: OperatorKeyScope): OperationId {
  return `${OperationPrefix.limitRequest}${derived(digest, operatorParts(scope))}` as OperationId;
}

/** The request that redrives a queue. */
export function deriveRedriveId(digest: Digest, scope: OperatorKeyScope): OperationId {
  return `${OperationPrefix.redrive}${derived(digest, operatorParts(scope))}` as OperationId;
}

/** The correction that this request makes: permanently the same. */
export function deriveCorrectionId(digest: Digest, scope: OperatorKeyScope): OperationId {
  return `${OperationPrefix.correction}${derived(digest, operatorParts(scope))}` as OperationId;
}

/** The annotation that this request makes: permanently the same. */
export function deriveAnnotationId(digest: Digest, scope: OperatorKeyScope): OperationId {
  return `${OperationPrefix.annotation}${derived(digest, operatorParts(scope))}` as OperationId;
}

/** A JSON array, not joined text: no choice of parts can be read as another choice. */
function derived(digest: Digest, parts: readonly string[]): string {
  return base32(digest.sha256(JSON.stringify(parts)).subarray(0, ID_BYTES));
}

function scopeParts(scope: KeyScope): readonly string[] {
  return [scope.tenantId, scope.mode, scope.method, scope.path, scope.key];
}

function operatorParts(scope: OperatorKeyScope): readonly string[] {
  return ['operator', scope.person, scope.method, scope.path, scope.key];
}

export const EXPORT_ID = /^exp_[a-z2-7]{32}$/;

/** The id of the export that this request makes. */
export function deriveExportId(digest: Digest, scope: KeyScope): string {
  return `exp_${derived(digest, scopeParts(scope))}`;
}

/** The operation that makes an export has the export's id. */
export function exportOperation(exportId: string): OperationId {
  return exportId as OperationId;
}

/** @returns undefined when `text` is not of the form of a payment id */
export function parsePaymentId(text: string): PaymentId | undefined {
  return PAYMENT_ID.test(text) ? (text as PaymentId) : undefined;
}

/** Reads back an operation id that this system wrote. */
export function storedOperationId(text: string): OperationId {
  return text as OperationId;
}

export function ownerToken(text: string): OwnerToken {
  return text as OwnerToken;
}

export function tenantId(text: string): TenantId {
  return text as TenantId;
}
