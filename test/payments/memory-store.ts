import type { OperationId, OrderId, OwnerToken, PaymentId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { fromTurn } from '../../lambdas/kernel/looks.ts';
import type {
  CompletedRecord,
  EffectRecord,
  IdempotencyRecord,
  OpenRecord,
} from '../../lambdas/once/domain/idempotency.ts';
import type { CommitOutcome, Takeover, TakeoverOutcome } from '../../lambdas/once/use/record-store.ts';
import type { OrderTransition } from '../../lambdas/orders/domain/order-transition.ts';
import type { OrderAppend, OrderClaim, OrderCommit, OrderStore } from '../../lambdas/orders/use/order-store.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import type { Effect, EffectOutcome, EffectStore, OrphanedCallback } from '../../lambdas/payments/use/effect-store.ts';
import type {
  ChargeToReturn,
  Claim,
  ClaimOutcome,
  Commit,
  Hold,
  Inquiry,
  OpenOrder,
  PaymentHistory,
  PaymentStore,
  ReferenceName,
  TransitionPage,
} from '../../lambdas/payments/use/payment-store.ts';
import type { OrphanShelf, UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { MemoryDueQueue } from '../resolving/memory-due-queue.ts';

/** The store in memory, for simulations: every call is one atomic step, as a DynamoDB transaction is. Passes the same contract suite. */
export class MemoryStore implements PaymentStore, EffectStore, OrphanShelf, UnfinishedWork, OrderStore {
  readonly #records = new Map<OperationId, IdempotencyRecord>();
  readonly #transitions = new Map<PaymentId, Transition[]>();
  readonly #references = new Map<string, PaymentId>();
  readonly #effects = new Map<OperationId, EffectRecord>();
  readonly #orphans = new Map<OperationId, OrphanedCallback & { readonly givenUp?: true }>();
  readonly #toReturn = new Map<string, ChargeToReturn>();
  /** The holds. */
  readonly holds = new MemoryDueQueue<Hold>(({ paymentId, authorizedAtMs }) => [authorizedAtMs, paymentId]);
  #readings = 0;
  readonly #inquiries = new Map<OperationId, Inquiry>();
  readonly #orders = new Map<OrderId, OrderTransition[]>();
  readonly #openOrders = new Map<OrderId, OpenOrder>();

  async claim({ record, pending, reference }: Claim): Promise<ClaimOutcome> {
    const existing = this.#records.get(record.operationId);
    if (existing !== undefined) return { kind: 'record_exists', record: existing };
    if (pending !== undefined && this.#hasTransition(pending)) return { kind: 'transition_exists' };
    const holder = reference === undefined ? undefined : this.#references.get(referenceKey(reference.name));
    if (holder !== undefined && holder !== reference?.replaces) return { kind: 'reference_taken', paymentId: holder };

    this.#records.set(record.operationId, record);
    if (pending !== undefined) this.#append(pending);
    if (reference !== undefined) this.#references.set(referenceKey(reference.name), record.paymentId);
    return { kind: 'claimed' };
  }

  async takeOver({ stale, owner, leaseExpiresAtMs }: Takeover): Promise<TakeoverOutcome> {
    const record = this.#records.get(stale.operationId);
    if (record?.status !== 'INPROGRESS' || record.owner !== stale.owner) return { kind: 'changed', record };
    this.#records.set(stale.operationId, { ...record, owner, leaseExpiresAtMs, released: false });
    return { kind: 'taken' };
  }

  async commit({ record, expects, transition, toReturn = [], hold, inquiry }: Commit): Promise<CommitOutcome> {
    const fenced = this.#fenced(record, expects);
    if (fenced !== undefined) return fenced;
    if (transition !== undefined && this.#hasTransition(transition)) return { kind: 'transition_exists' };

    this.#records.set(record.operationId, record);
    if (transition !== undefined) this.#append(transition);
    for (const charge of toReturn) this.#toReturn.set(returnKey(charge), charge);
    if (hold !== undefined) this.holds.add(hold);
    if (inquiry !== undefined) this.#inquiries.set(inquiry.operationId, inquiry);
    return { kind: 'committed' };
  }

  async release(operationId: OperationId, owner: OwnerToken): Promise<void> {
    const record = this.#records.get(operationId);
    if (record?.status !== 'INPROGRESS' || record.owner !== owner) return;
    this.#records.set(operationId, { ...record, leaseExpiresAtMs: 0, released: true });
  }

  async readRecord(operationId: OperationId): Promise<IdempotencyRecord | undefined> {
    return this.#records.get(operationId);
  }

  async readPayment(paymentId: PaymentId): Promise<PaymentHistory | undefined> {
    const transitions = this.#transitions.get(paymentId);
    const first = transitions?.[0];
    const newest = transitions?.at(-1);
    return first === undefined || newest === undefined ? undefined : { first, newest };
  }

  async listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]> {
    const transitions = this.#transitions.get(paymentId) ?? [];
    return transitions.slice(page.afterSequence, page.afterSequence + page.limit);
  }

  async recordEffect({
    record,
    transitions,
    orphan,
    adopted,
    toReturn = [],
    inquiries = [],
    hold,
    reopened,
  }: Effect): Promise<EffectOutcome> {
    const existing = this.#effects.get(record.operationId);
    if (existing !== undefined) return { kind: 'recorded_before', record: existing };
    if (transitions.some((transition) => this.#hasTransition(transition))) return { kind: 'transition_exists' };

    this.#effects.set(record.operationId, record);
    for (const transition of transitions) this.#append(transition);
    if (orphan !== undefined) this.#orphans.set(orphan.operationId, orphan);
    if (adopted !== undefined) this.#orphans.delete(adopted.operationId);
    for (const charge of toReturn) this.#toReturn.set(returnKey(charge), charge);
    for (const inquiry of inquiries) this.#inquiries.set(inquiry.operationId, inquiry);
    if (hold !== undefined) this.holds.add(hold);
    if (reopened !== undefined) this.#openOrders.set(reopened.orderId, reopened);
    return { kind: 'recorded' };
  }

  async readEffect(operationId: OperationId): Promise<EffectRecord | undefined> {
    return this.#effects.get(operationId);
  }

  async waiting(limit: number): Promise<readonly OrphanedCallback[]> {
    return [...this.#orphans.values()].filter(({ givenUp }) => givenUp === undefined).slice(0, limit);
  }

  async giveUp(orphan: OrphanedCallback): Promise<void> {
    this.#orphans.set(orphan.operationId, { ...orphan, givenUp: true });
  }

  async staleClaims(nowMs: number, limit: number): Promise<readonly OpenRecord[]> {
    const stale = [...this.#records.values()].filter(
      (record): record is OpenRecord => record.status === 'INPROGRESS' && record.leaseExpiresAtMs <= nowMs,
    );
    return stale.length <= limit ? stale : fromTurn(stale, nowMs).slice(0, limit);
  }

  async inquiries(limit: number): Promise<readonly Inquiry[]> {
    return this.#inTurn([...this.#inquiries.values()], limit);
  }

  async closeInquiry({ operationId }: Inquiry): Promise<void> {
    this.#inquiries.delete(operationId);
  }

  async chargesToReturn(limit: number): Promise<readonly ChargeToReturn[]> {
    return this.#inTurn([...this.#toReturn.values()], limit);
  }

  async closeReturn(charge: ChargeToReturn): Promise<void> {
    const queued = this.#toReturn.get(returnKey(charge));
    if (queued?.by === charge.by && queued.foundAtMs === charge.foundAtMs) this.#toReturn.delete(returnKey(charge));
  }

  async claimOrder({ record, first }: OrderClaim): ReturnType<OrderStore['claimOrder']> {
    const existing = this.#records.get(record.operationId);
    if (existing !== undefined) return { kind: 'record_exists', record: existing };
    if (first !== undefined && this.#hasOrderTransition(first)) return { kind: 'transition_exists' };
    this.#records.set(record.operationId, record);
    if (first !== undefined) this.#appendToOrder([first]);
    return { kind: 'claimed' };
  }

  async commitOrder({ record, expects, transitions, open }: OrderCommit): Promise<CommitOutcome> {
    const fenced = this.#fenced(record, expects);
    if (fenced !== undefined) return fenced;
    if (transitions.some((transition) => this.#hasOrderTransition(transition))) return { kind: 'transition_exists' };
    this.#records.set(record.operationId, record);
    this.#appendToOrder(transitions);
    if (open !== undefined) this.#openOrders.set(open.orderId, open);
    return { kind: 'committed' };
  }

  async appendToOrder({ transitions, open }: OrderAppend): ReturnType<OrderStore['appendToOrder']> {
    if (transitions.some((transition) => this.#hasOrderTransition(transition))) return { kind: 'transition_exists' };
    this.#appendToOrder(transitions);
    if (open !== undefined) this.#openOrders.set(open.orderId, open);
    return { kind: 'appended' };
  }

  async listOrderTransitions(orderId: OrderId, page: TransitionPage): Promise<readonly OrderTransition[]> {
    return (this.#orders.get(orderId) ?? []).slice(page.afterSequence, page.afterSequence + page.limit);
  }

  async openOrders(limit: number): Promise<readonly OpenOrder[]> {
    return this.#inTurn([...this.#openOrders.values()], limit);
  }

  async closeOrder({ orderId, sequence }: OpenOrder): Promise<void> {
    if (this.#openOrders.get(orderId)?.sequence === sequence) this.#openOrders.delete(orderId);
  }

  effectIds(): readonly OperationId[] {
    return [...this.#effects.keys()];
  }

  allTransitions(): readonly Transition[] {
    return [...this.#transitions.values()].flat();
  }

  /** Removes the record in any state, like time to live. */
  deleteRecord(operationId: OperationId): void {
    this.#records.delete(operationId);
    this.#effects.delete(operationId);
  }

  /** Entries that do not fit into one read are in a later one. */
  #inTurn<Row>(rows: readonly Row[], limit: number): readonly Row[] {
    if (rows.length <= limit) return rows;
    this.#readings += 1;
    return fromTurn(rows, this.#readings * 60_000).slice(0, limit);
  }

  #fenced(record: CompletedRecord, expects: Commit['expects']): CommitOutcome | undefined {
    const existing = this.#records.get(record.operationId);
    const held =
      expects === 'absent'
        ? existing === undefined
        : existing?.status === 'INPROGRESS' && existing.owner === record.owner;
    return held ? undefined : { kind: 'fenced', record: existing };
  }

  #hasOrderTransition({ order, sequence }: OrderTransition): boolean {
    return (this.#orders.get(order.id)?.length ?? 0) >= sequence;
  }

  #appendToOrder(transitions: readonly OrderTransition[]): void {
    for (const transition of transitions) {
      const chain = this.#orders.get(transition.order.id) ?? [];
      invariant(transition.sequence === chain.length + 1, 'transitions leave no gap');
      this.#orders.set(transition.order.id, [...chain, transition]);
    }
  }

  #hasTransition({ payment, sequence }: Transition): boolean {
    return (this.#transitions.get(payment.id)?.length ?? 0) >= sequence;
  }

  #append(transition: Transition): void {
    const transitions = this.#transitions.get(transition.payment.id) ?? [];
    invariant(transition.sequence === transitions.length + 1, 'transitions leave no gap');
    this.#transitions.set(transition.payment.id, [...transitions, transition]);
  }
}

function referenceKey({ tenantId, mode, reference }: ReferenceName): string {
  return JSON.stringify([tenantId, mode, reference]);
}

/** A charge that was found authorized and later captured has one entry. */
function returnKey({ paymentId, chargeId }: ChargeToReturn): string {
  return JSON.stringify([paymentId, chargeId]);
}
