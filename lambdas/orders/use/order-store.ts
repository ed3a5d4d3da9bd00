import type { OrderId } from '../../kernel/ids.ts';
import type { CompletedRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import type { ClaimOutcome, CommitOutcome, ExpectedRecord } from '../../once/use/record-store.ts';
import type { OpenOrder, TransitionPage } from '../../payments/use/payment-store.ts';
import type { OrderTransition } from '../domain/order-transition.ts';

export interface OrderClaim {
  readonly record: OpenRecord;
  /** Left out when it exists already and only its record was lost. */
  readonly first?: OrderTransition;
}

export interface OrderAppend {
  /** In their order; with a record, none when the order already stands where the answer says. */
  readonly transitions: readonly OrderTransition[];
  /** When they leave open what is in no queue. */
  readonly open?: OpenOrder;
}

export interface OrderCommit extends OrderAppend {
  readonly record: CompletedRecord;
  readonly expects: ExpectedRecord;
}

/**
 * The chains of orders. Their idempotency records are those of every operation, and are taken over, released and read where
 * those of payments are.
 */
export interface OrderStore {
  /** Record and first transition, all or nothing. */
  claimOrder(claim: OrderClaim): Promise<ClaimOutcome>;
  /** Stored answer and the transitions that it tells of, all or nothing, only while the owner still owns. */
  commitOrder(commit: OrderCommit): Promise<CommitOutcome>;
  /** Fenced by the chain alone: a place in it can be taken once. */
  appendToOrder(append: OrderAppend): Promise<{ readonly kind: 'appended' | 'transition_exists' }>;
  /** Consistent, oldest first. */
  listOrderTransitions(orderId: OrderId, page: TransitionPage): Promise<readonly OrderTransition[]>;
  /** Where more wait than `limit`, later readings begin elsewhere. */
  openOrders(limit: number): Promise<readonly OpenOrder[]>;
  closeOrder(open: OpenOrder): Promise<void>;
}
