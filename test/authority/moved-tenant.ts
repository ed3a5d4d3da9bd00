import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { IMPORT_WAITS_MS } from '../../lambdas/authority/contract.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId, type TenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { detailsKey } from '../../lambdas/once/store/details-rows.ts';
import { correctLedger } from '../../lambdas/operators/use/correct-ledger.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { change, paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { TABLES } from '../world/tables.ts';
import { type FourDatabases, type MoveChanges, type Process, ShardedDeployment } from './four-databases.ts';

/** Stored in rows of their own. */
export const NOTED = { reference: 'order-1', description: 'two shirts' };
/** Stored in a row of its own. */
export const OPEN = { reference: 'order-2' };

/** The tenant is moved from the database `b`; the neighbors in `b` and `c` stay. */
export class MovedTenant {
  readonly deployment: ShardedDeployment;
  readonly tenant: TenantId;
  readonly neighbors: readonly [inB: TenantId, inC: TenantId];
  readonly #databases: FourDatabases;

  private constructor(
    databases: FourDatabases,
    deployment: ShardedDeployment,
    [tenant, ...neighbors]: readonly [TenantId, TenantId, TenantId],
  ) {
    this.#databases = databases;
    this.deployment = deployment;
    this.tenant = tenant;
    this.neighbors = neighbors;
  }

  static async begin(databases: FourDatabases): Promise<MovedTenant> {
    await databases.empty();
    const deployment = new ShardedDeployment(databases);
    const [moved, neighbors] = [await deployment.tenants('moved'), await deployment.tenants('stays')];
    const inDatabase = (of: ReadonlyMap<string, TenantId>, name: string): TenantId => {
      const id = of.get(name);
      invariant(id !== undefined, `no tenant is in ${name}`);
      return id;
    };
    return new MovedTenant(databases, deployment, [
      inDatabase(moved, 'b'),
      inDatabase(neighbors, 'b'),
      inDatabase(neighbors, 'c'),
    ]);
  }

  requestOf(key: string, changes: Partial<CreatePayment> = {}, owner = this.tenant): CreatePayment {
    return paymentRequest(key, { tenantId: owner, paymentId: paymentIdFor(key, owner), ...changes });
  }

  async pay(key: string, changes: Partial<CreatePayment> = {}): Promise<CreatePayment> {
    const request = this.requestOf(key, changes);
    await this.deployment.world.answered(request, (await this.deployment.start()).tools);
    return request;
  }

  /** @param isApproved true if a second person must approve the correction */
  correct({ tools }: Process, payment: CreatePayment, key = 'corrected', isApproved = false) {
    const reversal = { kind: 'reverse', sequence: 2 } as const;
    const { clock } = this.deployment.world;
    const approvals = isApproved ? { aboveMinor: { EUR: 0 }, lifetimeMs: 60_000 } : undefined;
    return correctLedger(
      {
        effects: tools.effects,
        approvals,
        runner: idempotentRunner,
        clock,
        entropy: countingEntropy(),
        digest: systemDigest,
      },
      {
        cause: BY_OPERATOR,
        operationId: storedOperationId(`cor_${key}_${payment.tenantId}`),
        fingerprint: fingerprintOf(systemDigest, { body: { ...reversal }, query: {} }),
        payment: payment.paymentId,
        reason: 'Booked twice',
        by: OPERATOR,
        asked: { kind: 'correction', change: reversal },
      },
    );
  }

  erase(process: Process, { paymentId, tenantId, mode }: CreatePayment): Promise<boolean> {
    const actor = { by: 'command' as const, operator: 'ada' };
    const draft = { chain: { tenantId, mode }, actor, about: [paymentId], occurredAtMs: 0 };
    return process.erase({ ...draft, action: 'payment.erased' });
  }

  /** The database of `owner` then contains rows of every kind. */
  async useAll(process: Process, owner: TenantId): Promise<void> {
    const { world } = this.deployment;
    const { tools } = process;
    const paid = this.requestOf('paid', NOTED, owner);
    await world.answered(paid, tools);
    await world.change(change(paid, 'r', { kind: 'refund', amountMinor: 400 }), tools);
    const erased = this.requestOf('erased', { description: 'secret' }, owner);
    await world.answered(erased, tools);
    await this.erase(process, erased);
    await world.answered(this.requestOf('held', { capture: 'manual' }, owner), tools);
    await world.pay(this.requestOf('unknown', { source: 'tok_timeout_charged' }, owner), tools);
    await this.deployment.crash(process, this.requestOf('open', OPEN, owner));
    await world.order({ ...orderRequest(`order-${owner}`), tenantId: owner }, tools);
    const corrected = this.requestOf('corrected', {}, owner);
    await world.answered(corrected, tools);
    await this.correct(process, corrected, 'approval', true);
    await this.correct(process, corrected);
    await this.#databases.query(
      (await this.deployment.placeOf(owner)).shard,
      `INSERT INTO approval_end (approval_id, verdict, ended_at, body)
        SELECT approval_id, 'rejected', created_at, $2::json FROM approval WHERE tenant_id = $1`,
      owner,
      JSON.stringify({ verdict: 'rejected', by: OPERATOR, atMs: 0 }),
    );
  }

  rowsIn(...names: readonly string[]): ReturnType<FourDatabases['rowsIn']> {
    return this.#databases.rowsIn(...names);
  }

  async jsonIn(name: string, table: string): Promise<string> {
    const [row] = await this.#databases.query(name, `SELECT json_agg(own)::text AS rows FROM ${table} AS own`);
    return (row?.['rows'] as string | null) ?? '[]';
  }

  async rowsWith(name: string, ids: readonly string[]): Promise<readonly string[]> {
    const all = Object.values(await this.rowsIn(name)).flat();
    return all.filter((row) => ids.some((id) => row.includes(id)));
  }

  idsIn(name: string, owner = this.tenant): Promise<readonly string[]> {
    return this.#databases.idsIn(name, owner);
  }

  async hasCopiedDetails({ paymentId }: CreatePayment): Promise<boolean> {
    const { client } = this.deployment.world.store.database;
    const get = new GetCommand({ TableName: TABLES.registry, Key: detailsKey(paymentId) });
    return (await client.send(get)).Item !== undefined;
  }

  /** Calls `act` before each wait of IMPORT_WAITS_MS. The first wait has the number 1. */
  waiting(act: (wait: number) => Promise<void>): MoveChanges {
    const { clock, entropy } = this.deployment.world;
    let waits = 0;
    const observed: Clock = {
      nowMs: () => clock.nowMs(),
      sleep: async (ms) => {
        if (ms === IMPORT_WAITS_MS) await act((waits += 1));
        return clock.sleep(ms);
      },
    };
    return { pacing: { clock: observed, entropy } };
  }

  /** The point `switch` is the write that changes the tenant's database. */
  before(point: string, act: () => Promise<unknown>): MoveChanges {
    let isDone = false;
    return this.beforeEach(async (found) => {
      if (isDone || found !== point) return;
      isDone = true;
      await act();
    });
  }

  beforeEach(act: (point: string) => Promise<unknown>): MoveChanges {
    return {
      client: this.deployment.world.store.database.clientWith(async (command, apply, sent) => {
        await act(JSON.stringify(sent).includes('SET #shard') ? 'switch' : command);
        return apply();
      }),
      database: (name, given) => ({
        run: async (statement) => {
          await act(`${name} ${statement.name}`);
          return given.run(statement);
        },
        transaction: (work) =>
          given.transaction((transaction) =>
            work({
              run: async (statement) => {
                await act(`${name} ${statement.name}`);
                return transaction.run(statement);
              },
            }),
          ),
      }),
    };
  }
}
