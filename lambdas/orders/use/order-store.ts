import type { OrderId } from '../../kernel/ids.ts';
import type { CompletedRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import type { ClaimOutcome, CommitOutcome, TransitionPage } from '../../payments/use/payment-store.ts';
import type { OrderTransition } from '../domain/order-transition.ts';

/** The queue entry for an order that was answered and is not settled: somebody must go on with it. */
export interface OpenOrder {
  readonly orderId: OrderId;
  /** Of the order, or of what has opened it since: the looks at it grow rarer from here on. Unix milliseconds. */
  readonly createdAtMs: number;
  /** Of the transition that left it open, or a time, where its payment opened it: an entry is closed only as it was read. */
  readonly sequence: number;
}

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
  /** `open`: the claim is held by `record.owner`. `absent`: its record was deleted under the owner's feet. */
  readonly expects: 'open' | 'absent';
}

/**
 * The chains of orders. Their idempotency records are those of every operation, and are taken over, released and read where
 * those of payments are.
 */
export interface OrderStore {
  /** Record and first transition, all or nothing. */
  claimOrder(claim: OrderClaim): Promise<Exclude<ClaimOutcome, { kind: 'reference_taken' }>>;
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
