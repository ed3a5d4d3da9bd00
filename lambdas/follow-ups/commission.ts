import type { EventObject } from '../events/domain/event.ts';
import { MetadataName } from '../kernel/contract/metadata.ts';
import type { Mode, TenantId } from '../kernel/ids.ts';
import type { Order } from '../orders/domain/order.ts';
import type { PaymentChain } from '../payments/use/payment-chain.ts';

/**
 * The affiliate's share of the amount that the merchant keeps, in percent. Constant until merchants need their own
 * rules.
 */
const SHARE_PERCENT = 10;

/**
 * Time between the creation of a payment and the release of its commission, in days. Most refunds happen within this
 * time.
 */
const LOCKED_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Maximum length of a name in characters, so that a sort key stays within DynamoDB's limit of 1,024 bytes in any
 * script.
 */
const MAX_NAME_LENGTH = 255;

/** Sequence of a final commission. Greater than the sequence of any transition, which has at most six digits. */
const LAST_SEQUENCE = 1_000_000;

export interface CommissionName {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly affiliate: string;
  /**
   * The merchant's order id; for a payment without one, its reference or its id. Each order has only one commission.
   */
  readonly orderId: string;
}

export interface Commission extends CommissionName {
  readonly paymentId: string;
  /** Amount in minor units, rounded down. */
  readonly amountMinor: number;
  readonly currency: string;
  /**
   * `pending`: the order is placed but not paid. `locked`: the order is paid, and the commission is not decided yet.
   * `canceled`: the order was canceled, everything was refunded or lost in a dispute, or the share rounds down to zero.
   */
  readonly status: 'pending' | 'locked' | 'canceled' | 'released';
  /** The commission is then decided from the state of the Ledger. */
  readonly releasesAtMs: number;
  /**
   * Sequence of the payment's transition from which this commission is derived. Events with a lower sequence are
   * ignored. A final commission has {@link LAST_SEQUENCE}. A payment's first transition has no event. Therefore, the
   * events of its order can use the sequences 0 (placed) and 1 (canceled), which are lower than those of all events of
   * the payment.
   */
  readonly sequence: number;
}

export interface CommissionedPayment {
  readonly id: string;
  readonly status: string;
  readonly amount_captured: number;
  readonly amount_refunded: number;
  readonly currency: string;
  readonly reference: string | null;
  readonly processor: { readonly charge_id: string | null };
  readonly metadata: Readonly<Record<string, string>>;
  /** Unix seconds. */
  readonly created: number;
}

export interface CommissionedOrder {
  readonly id: string;
  readonly payment: string;
  readonly amount: number;
  readonly currency: string;
  readonly affiliate?: string | undefined;
  /** Unix seconds. */
  readonly created: number;
}

const ORDER_PLACED_SEQUENCE = 0;
const ORDER_CANCELED_SEQUENCE = 1;

export type CommissionCause = Pick<EventObject, 'type' | 'sequence' | 'data'>;

/**
 * Derives the commission from one event alone, so the newer of two events wins in any order of delivery. A lost dispute
 * is final, because the amounts of a payment do not reflect the money that the payer's bank took back.
 */
export function commissionAfter(
  { tenant, mode, event }: { readonly tenant: TenantId; readonly mode: Mode; readonly event: CommissionCause },
  payment: CommissionedPayment,
): Commission | undefined {
  const affiliate = payment.metadata[MetadataName.affiliate];
  if (!isName(affiliate) || payment.status !== 'succeeded') return undefined;
  const isLost = isLostDispute(event, payment);
  const amountMinor = isLost ? 0 : shareOf(payment.amount_captured - payment.amount_refunded);
  return {
    tenantId: tenant,
    mode,
    affiliate,
    orderId: orderOf(payment),
    paymentId: payment.id,
    amountMinor,
    currency: payment.currency,
    status: amountMinor > 0 ? 'locked' : 'canceled',
    // The lock period begins when the payment is created. It cannot begin at completion, because the events after the
    // completion do not contain the time of completion.
    releasesAtMs: payment.created * 1000 + LOCKED_DAYS * DAY_MS,
    sequence: isLost ? LAST_SEQUENCE : event.sequence,
  };
}

/**
 * Derives the commission from an event of an order: `pending` when the order is placed, `canceled` when the order is
 * canceled before it was paid. Every event of the order's payment is treated as newer.
 *
 * @returns undefined when the order names no affiliate
 */
export function commissionOfOrder(
  {
    tenant,
    mode,
    event,
  }: { readonly tenant: TenantId; readonly mode: Mode; readonly event: Pick<EventObject, 'type'> },
  { id, payment, amount, currency, affiliate, created }: CommissionedOrder,
): Commission | undefined {
  if (!isName(affiliate)) return undefined;
  const isPlaced = event.type === 'order.placed';
  const amountMinor = isPlaced ? shareOf(amount) : 0;
  return {
    tenantId: tenant,
    mode,
    affiliate,
    orderId: id,
    paymentId: payment,
    amountMinor,
    currency,
    status: amountMinor > 0 ? 'pending' : 'canceled',
    releasesAtMs: created * 1000 + LOCKED_DAYS * DAY_MS,
    sequence: isPlaced ? ORDER_PLACED_SEQUENCE : ORDER_CANCELED_SEQUENCE,
  };
}

/** Stray charges are ignored, because they are not part of the kept amount. */
function isLostDispute({ type, data }: CommissionCause, { processor }: CommissionedPayment): boolean {
  const { status, charge_id } = data.object;
  return type === 'dispute.closed' && status === 'lost' && charge_id === processor.charge_id;
}

function shareOf(keptMinor: number): number {
  return Math.floor((Math.max(0, keptMinor) * SHARE_PERCENT) / 100);
}

export interface CommissionLedger {
  /** Absent if the payment does not exist. */
  readonly chain?: Pick<PaymentChain, 'newest' | 'state'>;
  readonly order?: Pick<Order, 'status'>;
}

/**
 * Decides on a commission after its lock period, from the state of the Ledger: `released` with the share of the amount
 * that the merchant keeps, or `canceled` if the merchant keeps nothing or the order was canceled. The decision uses
 * neither events, which may be late, nor metadata, which may have been erased. Later events do not change a released
 * commission.
 *
 * @returns undefined while a refund is in progress, a dispute is open, or the order is in progress or in review
 */
export function commissionDecided(commission: Commission, { chain, order }: CommissionLedger): Commission | undefined {
  if (order?.status === 'processing' || order?.status === 'needs_review') return undefined;
  const amountMinor = chain === undefined || order?.status === 'canceled' ? 0 : keptShare(chain.state);
  if (amountMinor === undefined) return undefined;
  if (amountMinor > 0) return { ...commission, amountMinor, status: 'released', sequence: LAST_SEQUENCE };
  const sequence = Math.max(commission.sequence, chain?.newest.sequence ?? 0);
  return { ...commission, amountMinor, status: 'canceled', sequence };
}

/** @returns undefined while a refund is in progress or a dispute is open */
function keptShare({ payment, refunds, disputes }: PaymentChain['state']): number | undefined {
  const isOwn = ({ chargeId }: { readonly chargeId: string }) => chargeId === payment.chargeId;
  const ownDisputes = [...disputes.values()].filter(isOwn);
  if ([...refunds.values()].some((refund) => isOwn(refund) && refund.status === 'pending')) return undefined;
  if (ownDisputes.some(({ status }) => status === 'open')) return undefined;
  const isLost = ownDisputes.some(({ status }) => status === 'lost');
  return isLost ? 0 : shareOf(payment.amountCapturedMinor - payment.amountRefundedMinor);
}

/**
 * Returns the first of `metadata.order`, `metadata.order_id` and the reference that is a valid name; otherwise, the
 * payment's id.
 */
export function orderOf({ id, reference, metadata }: CommissionedPayment): string {
  return [metadata[MetadataName.order], metadata[MetadataName.orderId], reference ?? undefined].find(isName) ?? id;
}

function isName(text: string | undefined): text is string {
  return text !== undefined && text.length > 0 && text.length <= MAX_NAME_LENGTH;
}
