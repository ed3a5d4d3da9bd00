import type { EventObject } from '../events/domain/event.ts';
import type { Mode, TenantId } from '../kernel/ids.ts';
import type { PaymentState } from '../payments/domain/payment-state.ts';

/** What an affiliate gets of what the merchant keeps: ten of a hundred. A constant until merchants ask for a rule of their own. */
const SHARE_PERCENT = 10;

/** A commission may be paid out so long after its payment was made: most refunds have come by then. */
const LOCKED_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A key of a row stays within what DynamoDB takes (1,024 bytes), in any script. Characters. */
const MAX_NAME_LENGTH = 255;

/** Behind every place in a payment's chain, which has six digits at most. */
const AFTER_ALL = 1_000_000;

/** The types of events that can change what is due, in which the payment says how it stands. */
export const COMMISSION_EVENT_TYPES = [
  'payment.completed',
  'refund.completed',
  'refund.failed',
  'dispute.closed',
] as const;

/** Whose commission it is, and for what. */
export interface CommissionName {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly affiliate: string;
  /** The merchant's order, else the payment itself: there is one commission for each. */
  readonly orderId: string;
}

export interface Commission extends CommissionName {
  readonly paymentId: string;
  /** What is due; minor units, rounded down. */
  readonly amountMinor: number;
  readonly currency: string;
  /** `canceled`: all was given back or lost, or so little was kept that nothing is due. */
  readonly status: 'locked' | 'canceled' | 'released';
  /** From when on a locked one may be paid out. Unix milliseconds. */
  readonly releasesAtMs: number;
  /** The payment's place in its chain that this follows from: only what is newer counts. */
  readonly sequence: number;
}

/** What a commission follows from: a payment as an event shows it. */
export interface CommissionedPayment {
  readonly id: string;
  readonly status: string;
  /** Minor units. */
  readonly amount_captured: number;
  /** Minor units. */
  readonly amount_refunded: number;
  readonly currency: string;
  readonly reference: string | null;
  readonly processor: { readonly charge_id: string | null };
  readonly metadata: Readonly<Record<string, string>>;
  /** Unix seconds. */
  readonly created: number;
}

/** What happened to it. */
export type CommissionCause = Pick<EventObject, 'type' | 'sequence' | 'data'>;

/**
 * The commission as it is due after an event, from that event alone: of two events the newer one is right, in whatever order
 * they come. A lost dispute has the last word: of what the payer's bank took, a payment's amounts say nothing.
 *
 * @returns undefined when the payment names no affiliate, or was not kept
 */
export function commissionAfter(
  { tenant, mode, event }: { readonly tenant: TenantId; readonly mode: Mode; readonly event: CommissionCause },
  payment: CommissionedPayment,
): Commission | undefined {
  const affiliate = payment.metadata['affiliate'];
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
    // Not from when it completed: of that, only one of its events knows.
    releasesAtMs: payment.created * 1000 + LOCKED_DAYS * DAY_MS,
    sequence: isLost ? AFTER_ALL : event.sequence,
  };
}

/** A dispute over a charge that the payment must not have, and that goes back, takes nothing of what was kept. */
function isLostDispute({ type, data }: CommissionCause, { processor }: CommissionedPayment): boolean {
  const { status, charge_id } = data.object;
  return type === 'dispute.closed' && status === 'lost' && charge_id === processor.charge_id;
}

function shareOf(keptMinor: number): number {
  return Math.floor((Math.max(0, keptMinor) * SHARE_PERCENT) / 100);
}

/**
 * Whether the Ledger agrees that it is due: all events that lessen it were taken in, no refund is under way, and no dispute is
 * open, of which nobody knows yet who keeps the money.
 */
export function isDue(
  { amountMinor }: Pick<Commission, 'amountMinor'>,
  { payment, refunds, disputes }: Pick<PaymentState, 'payment' | 'refunds' | 'disputes'>,
): boolean {
  const isOwn = ({ chargeId }: { readonly chargeId: string }) => chargeId === payment.chargeId;
  const isUnderWay = [...refunds.values()].some((refund) => isOwn(refund) && refund.status === 'pending');
  const isDisputed = [...disputes.values()].some((dispute) => isOwn(dispute) && dispute.status !== 'won');
  if (isUnderWay || isDisputed) return false;
  return amountMinor === shareOf(payment.amountCapturedMinor - payment.amountRefundedMinor);
}

/** As it is once the affiliate may have it: nothing that happens to its payment changes it any more. */
export function released(commission: Commission): Commission {
  return { ...commission, status: 'released', sequence: AFTER_ALL };
}

/** `metadata.order`, `metadata.order_id`, the reference, the payment's own id: the first that is there. */
export function orderOf({ id, reference, metadata }: CommissionedPayment): string {
  return [metadata['order'], metadata['order_id'], reference ?? undefined].find(isName) ?? id;
}

function isName(text: string | undefined): text is string {
  return text !== undefined && text.length > 0 && text.length <= MAX_NAME_LENGTH;
}
