import type { OperationId, OrderId } from '../../kernel/ids.ts';
import type { CallLimit } from '../../kernel/world.ts';
import type { Failure } from '../../payments/domain/payment.ts';

/**
 * Whom an order needs beside the payment. Every call carries our operation's key, the same on every attempt, for ever: a
 * call that is made again takes effect once.
 *
 * @throws RetryableError when nothing was applied, AmbiguousError when it may have been and the same call finds out,
 *   TerminalError when trying again cannot help
 */
interface OrderItem {
  readonly sku: string;
  readonly quantity: number;
}

export interface ReservationOrder {
  readonly operationId: OperationId;
  readonly orderId: OrderId;
  readonly items: readonly OrderItem[];
}

export type ReservationOutcome =
  | { readonly kind: 'reserved'; readonly reservationId: string }
  /** Understood and refused: nothing is reserved. */
  | { readonly kind: 'refused'; readonly failure: Failure };

export interface StockKeeper {
  reserve(order: ReservationOrder, limit: CallLimit): Promise<ReservationOutcome>;
  /** As often as it is asked for: what is released stays so. */
  release(reservationId: string, limit: CallLimit): Promise<void>;
}

export interface CreditOrder {
  readonly operationId: OperationId;
  readonly orderId: OrderId;
  readonly referrer: string;
  /** Minor units. */
  readonly amountMinor: number;
  readonly currency: string;
}

export type CreditOutcome =
  | { readonly kind: 'credited'; readonly creditId: string }
  | { readonly kind: 'refused'; readonly failure: Failure };

export interface ReferralProgram {
  credit(order: CreditOrder, limit: CallLimit): Promise<CreditOutcome>;
}

/** An e-mail that is sent once, by its operation. */
export interface Letter {
  readonly operationId: OperationId;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** What kind it is, for whoever counts them: `order-confirmation`. */
  readonly tag: string;
}

export type LetterOutcome =
  | { readonly kind: 'sent'; readonly messageId: string }
  | { readonly kind: 'refused'; readonly failure: Failure }
  /** It may have gone out and nobody can tell: never sent again by itself. */
  | { readonly kind: 'needs_review' };

export interface Mailer {
  send(letter: Letter, limit: CallLimit): Promise<LetterOutcome>;
}
