import type { OperationId, OwnerToken, PaymentId } from '../../lambdas/kernel/ids.ts';
import type { Due } from '../../lambdas/kernel/looks.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import type { Claim, Commit, PaymentStore, TransitionPage } from '../../lambdas/payments/use/payment-store.ts';
import type { OrphanStore, UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import type { PostgresTools } from '../../lambdas/postgres/attempts.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { PostgresUnfinishedWork } from '../../lambdas/resolving/store/postgres-unfinished.ts';
import { databaseOf, toolsOn } from '../postgres/store-database.ts';
import type { Actor } from '../support/fault-plan.ts';
import { Stores } from './stores.ts';

const STILL: Clock = { nowMs: () => 0, sleep: async () => undefined };

/** Stores of payments and their queues on PostgreSQL. The other stores are in memory. */
export class PostgresStores extends Stores {
  readonly #payments: PostgresStore;
  readonly #effectsOfPayments: PostgresEffects;
  readonly #unfinished: PostgresUnfinishedWork;

  constructor(tools: PostgresTools, clock: Clock) {
    super(clock);
    this.#payments = new PostgresStore(tools);
    this.#effectsOfPayments = new PostgresEffects(tools, this.#payments);
    this.#unfinished = new PostgresUnfinishedWork(tools);
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

  override recordEffect(effect: Effect): ReturnType<PostgresEffects['recordEffect']> {
    return this.#effectsOfPayments.recordEffect(effect);
  }

  override readEffect(operationId: OperationId): ReturnType<PostgresEffects['readEffect']> {
    return this.#effectsOfPayments.readEffect(operationId);
  }

  override queueIfAbsent(...entries: Parameters<PostgresEffects['queueIfAbsent']>): Promise<void> {
    return this.#effectsOfPayments.queueIfAbsent(...entries);
  }

  override waiting(...read: Parameters<OrphanStore['waiting']>): ReturnType<OrphanStore['waiting']> {
    return this.#effectsOfPayments.waiting(...read);
  }

  override unknownOutcomes(due: Due): ReturnType<UnfinishedWork['unknownOutcomes']> {
    return this.#unfinished.unknownOutcomes(due);
  }

  override chargesToReturn(due: Due): ReturnType<UnfinishedWork['chargesToReturn']> {
    return this.#unfinished.chargesToReturn(due);
  }
}

/** Returns stores on PostgreSQL: one without faults, and one per process with faults at its statements. */
export function storesOnPostgres(database: Database) {
  return {
    store: new PostgresStores(toolsOn(database, STILL), STILL),
    storeFor: (actor: Actor, clock: Clock) => new PostgresStores(toolsOn(databaseOf(actor, database), clock), clock),
  };
}
