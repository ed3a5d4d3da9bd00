import type { OrderId } from '../../kernel/ids.ts';
import type { Due } from '../../kernel/looks.ts';
import type { CompletedRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import type { ClaimOutcome, CommitOutcome, ExpectedRecord } from '../../once/use/record-store.ts';
import type { OpenOrder, TransitionPage } from '../../payments/use/payment-store.ts';
import type { OrderTransition } from '../domain/order-transition.ts';

export interface OrderClaim {
  readonly record: OpenRecord;
  /** Omitted when the transition exists and only the record was lost. */
  readonly first?: OrderTransition;
}

export interface OrderAppend {
  /** In order. Empty in a commit when the order already has the state of the stored response. */
  readonly transitions: readonly OrderTransition[];
  /** Present if the order is not settled and not queued yet. */
  readonly open?: OpenOrder;
}

export interface OrderCommit extends OrderAppend {
  readonly record: CompletedRecord;
  readonly expects: ExpectedRecord;
}

export interface OrderPlace {
  readonly orderId: OrderId;
  readonly sequence: number;
}

export interface OrderTransitionReader {
  /** Strongly consistent. @returns undefined if it does not exist */
  readOrderTransition(place: OrderPlace): Promise<OrderTransition | undefined>;
}

/**
 * Orders use the same idempotency records as all other operations; `PaymentStore` takes over, releases and reads these
 * records.
 */
export interface OrderStore {
  /** Writes the record and, if given, the first transition with the order's contacts, in one transaction. */
  claimOrder(claim: OrderClaim): Promise<ClaimOutcome>;
  /** Writes everything in one transaction, if the owner still holds the claim. */
  commitOrder(commit: OrderCommit): Promise<CommitOutcome>;
  /**
   * Rivals are fenced only by the chain: each position can be taken once. `transition_exists`: the position is already
   * taken.
   */
  appendToOrder(append: OrderAppend): Promise<{ readonly kind: 'appended' | 'transition_exists' }>;
  /** Oldest first, with strong consistency. */
  listOrderTransitions(orderId: OrderId, page: TransitionPage): Promise<readonly OrderTransition[]>;
  /** Due orders, longest overdue first. */
  openOrders(due: Due): Promise<readonly OpenOrder[]>;
  /** Has no effect if the order was closed or reopened after the entry was read. */
  postponeOrder(open: OpenOrder, dueAtMs: number): Promise<void>;
  /** If the order was reopened after the entry was read, the order stays in the queue. */
  closeOrder(open: OpenOrder): Promise<void>;
}
