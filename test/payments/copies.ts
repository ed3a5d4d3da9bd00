import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { ActivityDraft } from '../../lambdas/activity/domain/activity.ts';
import { erasePostgresDetails } from '../../lambdas/activity/store/postgres-erasure.ts';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { ownerToken, type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { detailsKey } from '../../lambdas/once/store/details-rows.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { paymentPartition, transitionSort } from '../../lambdas/payments/store/items.ts';
import { LedgerCarrier, PAYMENT_CHAIN } from '../../lambdas/payments/store/postgres-carrier.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import type { PostgresTools } from '../../lambdas/postgres/attempts.ts';
import {
  type Carrier,
  type CarryObserver,
  type CarryTools,
  carryOrReport,
  carryShard,
  observeOutbox,
} from '../../lambdas/postgres/carry.ts';
import type { Database, Row } from '../../lambdas/postgres/database.ts';
import { OUTBOX_SHARDS, Outbox, type OutboxState } from '../../lambdas/postgres/outbox.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { databaseOf, toolsOn } from '../postgres/store-database.ts';
import { BY_OPERATOR } from '../support/causes.ts';
import type { Actor } from '../support/fault-plan.ts';
import { SDK_ERRORS } from '../support/faulty-client.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import type { Item } from '../world/dynamodb-values.ts';
import { emptyTables } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

export function effectOf(transitions: readonly Transition[]): Effect {
  const [first] = transitions;
  invariant(first !== undefined, 'the effect has no transition');
  const { payment, sequence } = first;
  const operationId = callbackOperation(systemDigest, 'memory', `${payment.id}-${sequence}`);
  return { record: { operationId, paymentId: payment.id, owner: ownerToken('owner'), recordedAtMs: 0 }, transitions };
}

/** PostgreSQL database, and in-memory DynamoDB tables into which its rows are copied. */
export class Copies implements CarryObserver {
  readonly clock = new SimulatedClock();
  readonly tables = emptyTables(this.clock);
  readonly stops: (readonly [chain: string, sequence: number])[] = [];
  readonly failures: unknown[] = [];
  readonly states: OutboxState[] = [];
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  stopped(chain: string, sequence: number): void {
    this.stops.push([chain, sequence]);
  }

  failed(_chain: string, error: unknown): void {
    this.failures.push(error);
  }

  observed(state: OutboxState): void {
    this.states.push(state);
  }

  tools(database = this.#database): PostgresTools {
    return toolsOn(database, this.clock);
  }

  carrying(carrier: Carrier = this.carrier()): PostgresTools {
    return { ...this.tools(), committed: (id) => carryOrReport({ carrier, observer: this }, id) };
  }

  carrier(client = this.tables.client, database = this.#database): LedgerCarrier {
    return new LedgerCarrier({
      ...this.tools(database),
      client,
      tables: TABLES,
      chains: [PAYMENT_CHAIN],
      observer: this,
    });
  }

  /** Each statement and each call to DynamoDB can have a fault. */
  faultyCarrier(actor: Actor): LedgerCarrier {
    const client = this.tables.clientWith((command, apply) => actor.call(command, SDK_ERRORS, apply));
    return this.carrier(client, databaseOf(actor, this.#database));
  }

  effects(): PostgresEffects {
    return new PostgresEffects(this.tools(), new PostgresStore(this.tools()));
  }

  async write(...transitions: readonly Transition[]): Promise<void> {
    await this.effects().recordEffect(effectOf(transitions));
  }

  /** @returns the time before which the copies are complete, in Unix milliseconds */
  async poll(carrier: Carrier = this.carrier(), deadlineMs = Number.POSITIVE_INFINITY): Promise<number> {
    const tools: CarryTools = { outbox: new Outbox(this.tools()), carrier, observer: this, clock: this.clock };
    for (let shard = 0; shard < OUTBOX_SHARDS; shard += 1) await carryShard(tools, shard, deadlineMs);
    return observeOutbox(tools);
  }

  /** Returns false if there was nothing to erase. */
  async erase(id: PaymentId, carrier: Carrier = this.carrier()): Promise<boolean> {
    const chain = { tenantId: tenantId('ten_fixture'), mode: 'test' } as const;
    const draft: ActivityDraft = {
      chain,
      action: 'payment.erased',
      actor: BY_OPERATOR,
      about: [id],
      occurredAtMs: this.clock.nowMs(),
    };
    return erasePostgresDetails(this.tools(), carrier, draft);
  }

  ledger(id: PaymentId): readonly Item[] {
    return this.tables.items(TABLES.ledger, paymentPartition(id));
  }

  details(id: PaymentId): readonly Item[] {
    return this.tables.items(TABLES.registry, `${RegistryRow.details}${id}`);
  }

  copied(id: PaymentId): readonly unknown[] {
    return this.ledger(id).map(({ sequence }) => sequence);
  }

  /** A restore to an earlier point in time loses such rows. */
  async loseCopies(id: PaymentId, ...sequences: readonly number[]): Promise<void> {
    for (const sequence of sequences) {
      const Key = { [KeyAttribute.partition]: paymentPartition(id), [KeyAttribute.sort]: transitionSort(sequence) };
      await this.tables.client.send(new DeleteCommand({ TableName: TABLES.ledger, Key }));
    }
  }

  async loseDetails(id: PaymentId, part: string): Promise<void> {
    await this.tables.client.send(new DeleteCommand({ TableName: TABLES.registry, Key: detailsKey(id, part) }));
  }

  async putDetails(...rows: readonly Item[]): Promise<void> {
    for (const row of rows) await this.tables.client.send(new PutCommand({ TableName: TABLES.registry, Item: row }));
  }

  async outbox(id: PaymentId): Promise<readonly Row[]> {
    const text = 'SELECT kind, sequence FROM outbox WHERE chain_id = $1 ORDER BY kind, sequence';
    return this.#database.run(sql(text, id));
  }
}
