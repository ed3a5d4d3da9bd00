import type { Mode, OperationId, OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { CallLimit } from '../../kernel/world.ts';
import type { Failure } from '../../payments/domain/payment.ts';

/*
 * Ports of the external services that an order needs in addition to the processor. Every call can be retried and takes
 * effect once: it has an operation id that is the same for every attempt, or it is idempotent. Every call throws
 *
 *   RetryableError   nothing was applied
 *   AmbiguousError   it may have been applied; repeating the same call determines the outcome
 *   TerminalError    a retry cannot help
 */

export interface OrderItem {
  readonly sku: string;
  readonly quantity: number;
}

/** The call is stored in a queue, so the caller must not repeat it. */
export type GivenUpCall =
  /** A delayed message triggers the last attempt. Its consumer records the outcome in the order. */
  | { readonly kind: 'queued' }
  /** Dead-lettered, until an operator redrives it. */
  | { readonly kind: 'given_up'; readonly reason: string; readonly mayBeApplied: boolean };

export interface ReservationOrder {
  readonly operationId: OperationId;
  readonly orderId: OrderId;
  readonly items: readonly OrderItem[];
  readonly shopOrder?: number;
}

export type ReservationOutcome =
  | { readonly kind: 'reserved'; readonly reservationId: string }
  /** The stock service refused, or it is unknown whether the items are reserved (`STOCK_IN_DOUBT`). */
  | { readonly kind: 'refused'; readonly failure: Failure };

export interface StockKeeper {
  reserve(order: ReservationOrder, limit: CallLimit): Promise<ReservationOutcome>;
  /** Idempotent: a released reservation stays released. */
  release(reservation: Reservation, limit: CallLimit): Promise<void>;
  /** Called when a dead-lettered note is redriven. @default the shop has no notes */
  note?(note: ShopNote, limit: CallLimit): Promise<void>;
}

interface ShopNote {
  readonly orderId: OrderId;
  readonly shopOrder: number;
  readonly reservationId: string;
  readonly orderStatus: 'paid' | 'canceled';
}

interface Reservation extends Pick<ReservationOrder, 'items' | 'shopOrder'> {
  readonly reservationId: string;
  /** Absent in dead letters of a stock service that needs only the reservation's id. */
  readonly orderId?: OrderId;
}

export interface CreditOrder {
  readonly operationId: OperationId;
  readonly orderId: OrderId;
  readonly referrer: string;
  readonly amountMinor: number;
  readonly currency: string;
}

export type CreditOutcome =
  | { readonly kind: 'credited'; readonly creditId: string }
  | GivenUpCall
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'no_referral_program' };

export interface ReferralProgram {
  credit(order: CreditOrder, limit: CallLimit): Promise<CreditOutcome>;
}

/** The e-mail is sent once for each operation id. */
export interface OrderEmail {
  readonly operationId: OperationId;
  /** The order that records the outcome. @default none: a receipt */
  readonly orderId?: OrderId;
  /**
   * The payment to which a receipt belongs. It is read again before a delayed or dead-lettered receipt is sent.
   * @default none: an order's e-mail
   */
  readonly paymentId?: PaymentId;
  /** The tenant whose limit of e-mails per day and recipient applies. */
  readonly tenantId: TenantId;
  /** In test mode, every mailer except the sandbox's reports the e-mail as sent, but sends nothing. */
  readonly mode: Mode;
  /** Determines the day on which the e-mail is counted. The same for every attempt. */
  readonly dueAtMs: number;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The kind of e-mail, for the mailer's statistics, for example `order-confirmation`. */
  readonly tag: string;
}

export type EmailOutcome =
  | { readonly kind: 'sent'; readonly messageId: string }
  | GivenUpCall
  | { readonly kind: 'refused'; readonly failure: Failure }
  /** The recipient has reached the tenant's daily limit, so the e-mail is never sent. */
  | { readonly kind: 'capped' }
  /** It cannot be determined whether the e-mail was sent. The e-mail is not resent automatically. */
  | { readonly kind: 'needs_review' };

/** Limits the number of e-mails per day (UTC) to one recipient from one tenant in one mode. */
export interface EmailCounts {
  /**
   * An e-mail that was counted before is admitted, but not counted again.
   *
   * @returns whether the e-mail may be sent
   */
  admit(email: Pick<OrderEmail, 'operationId' | 'tenantId' | 'mode' | 'to' | 'dueAtMs'>): Promise<boolean>;
}

export interface Mailer {
  send(email: OrderEmail, limit: CallLimit): Promise<EmailOutcome>;
}
