import type { OperationId, OwnerToken, PaymentId } from '../../lambdas/kernel/ids.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { PostgresApprovals } from '../../lambdas/operators/store/postgres-approvals.ts';
import { PostgresOrders } from '../../lambdas/orders/store/postgres-orders.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { Claim, Commit, PaymentStore, TransitionPage } from '../../lambdas/payments/use/payment-store.ts';
import type { PostgresTools } from '../../lambdas/postgres/attempts.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { PostgresHolds } from '../../lambdas/resolving/store/postgres-holds.ts';
import { PostgresUnfinishedWork } from '../../lambdas/resolving/store/postgres-unfinished.ts';
import { databaseOf, toolsOn } from '../postgres/store-database.ts';
import type { Actor } from '../support/fault-plan.ts';
import { type AuthorityParts, emptyTables, Stores } from './stores.ts';

const STILL: Clock = { nowMs: () => 0, sleep: async () => undefined };

/** Stores of payments, orders and their queues on PostgreSQL. The other stores are in memory. */
export class PostgresStores extends Stores {
  readonly #payments: PaymentStore;

  constructor(parts: AuthorityParts & { readonly store: PaymentStore }, clock: Clock, tables = emptyTables(clock)) {
    super(clock, tables, undefined, parts);
    this.#payments = parts.store;
  }

  override claim(claim: Claim): ReturnType<PaymentStore['claim']> {
    return this.#payments.claim(claim);
  }

  override commit(commit: Commit): ReturnType<PaymentStore['commit']> {
    return this.#payments.commit(commit);
  }

  override takeOver(...takeover: Parameters<PaymentStore['takeOver']>): ReturnType<PaymentStore['takeOver']> {
    return this.#payments.takeOver(...takeover);
  }

  override release(operationId: OperationId, owner: OwnerToken): Promise<void> {
    return this.#payments.release(operationId, owner);
  }

  override readRecord(operationId: OperationId): ReturnType<PaymentStore['readRecord']> {
    return this.#payments.readRecord(operationId);
  }

  override readPayment(paymentId: PaymentId): ReturnType<PaymentStore['readPayment']> {
    return this.#payments.readPayment(paymentId);
  }

  override readEnds(...ends: Parameters<PaymentStore['readEnds']>): ReturnType<PaymentStore['readEnds']> {
    return this.#payments.readEnds(...ends);
  }

  override readNotes(...notes: Parameters<PaymentStore['readNotes']>): ReturnType<PaymentStore['readNotes']> {
    return this.#payments.readNotes(...notes);
  }

  override listTransitions(paymentId: PaymentId, page: TransitionPage): ReturnType<PaymentStore['listTransitions']> {
    return this.#payments.listTransitions(paymentId, page);
  }
}

export function storesOn(tools: PostgresTools): PostgresStores {
  const store = new PostgresStore(tools);
  const effects = new PostgresApprovals(tools, store);
  const parts = {
    store,
    effects,
    orphans: effects,
    orders: new PostgresOrders(tools),
    work: new PostgresUnfinishedWork(tools),
    holds: new PostgresHolds(tools),
  };
  return new PostgresStores(parts, tools.pacing.clock);
}

/** One store without faults, and one per process with faults at its statements. */
export function storesOnPostgres(database: Database) {
  return {
    store: storesOn(toolsOn(database, STILL)),
    storeFor: (actor: Actor, clock: Clock) => storesOn(toolsOn(databaseOf(actor, database), clock)),
  };
}
