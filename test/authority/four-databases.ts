import { setTimeout as sleep } from 'node:timers/promises';
import { type DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { configuredAuthority } from '../../lambdas/authority/configured-authority.ts';
import { databasesOf, POSTGRES_AUTHORITY, type PostgresSettings } from '../../lambdas/authority/contract.ts';
import { moveTenant, planMove } from '../../lambdas/authority/move-tenant.ts';
import type { AuthorityPlatform } from '../../lambdas/authority/postgres-authority.ts';
import { KnownDatabase } from '../../lambdas/authority/store/known-database.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import type { TenantId } from '../../lambdas/kernel/ids.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { Pacing } from '../../lambdas/kernel/platform/attempts.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Database, Row, Statement } from '../../lambdas/postgres/database.ts';
import { readMigrations, tablesOf } from '../../lambdas/postgres/migrations.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { TenantMoves } from '../../lambdas/tenants/store/tenant-moves.ts';
import { tenantRowKey } from '../../lambdas/tenants/store/tenant-owners.ts';
import type { TenantPlace } from '../../lambdas/tenants/store/tenant-shards.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase, type StoreDatabase } from '../postgres/store-database.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { QUIET_INSTRUMENTS } from '../support/quiet-instruments.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const SETTINGS: PostgresSettings = {
  secretId: 'database',
  database: 'first',
  shards: [
    { name: 'b', database: 'b' },
    { name: 'c', database: 'c' },
    { name: 'd', database: 'd' },
  ],
};
export const NAMES = databasesOf(SETTINGS).map(({ name }) => name);

const SILENT_MS = 1_000;

interface Begun {
  readonly shard: string;
  readonly statement: Statement;
}

export interface MoveChanges {
  readonly client?: DynamoDBDocumentClient;
  readonly database?: (name: string, given: Database) => Database;
  readonly pacing?: Pacing;
}

export class FourDatabases {
  readonly #databases: ReadonlyMap<string, StoreDatabase>;

  private constructor(databases: ReadonlyMap<string, StoreDatabase>) {
    this.#databases = databases;
  }

  static async create(): Promise<FourDatabases> {
    const opened: [string, StoreDatabase][] = [];
    for (const name of NAMES) opened.push([name, openTestDatabase(await createDatabase(), { connections: 4 })]);
    return new FourDatabases(new Map(opened));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#databases.values()].map((each) => each.close()));
  }

  database(name: string): StoreDatabase {
    const found = this.#databases.get(name);
    invariant(found !== undefined, `there is no database ${name}`);
    return found;
  }

  async query(name: string, text: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return this.database(name).owner.run(sql(text, ...values));
  }

  async empty(): Promise<void> {
    const tables = tablesOf(readMigrations()).join(', ');
    for (const name of NAMES) await this.query(name, `TRUNCATE ${tables}`);
  }

  /** Returns the rows as sorted texts, keyed by table. */
  async rowsIn(...names: readonly string[]): Promise<Readonly<Record<string, readonly string[]>>> {
    const found: Record<string, readonly string[]> = {};
    for (const table of tablesOf(readMigrations()).filter((name) => name !== 'tenant_move')) {
      const text = `SELECT own::text AS row FROM ${table} AS own`;
      const rows = await Promise.all(names.map((name) => this.query(name, text)));
      found[table] = rows
        .flat()
        .map(({ row }) => String(row))
        .toSorted();
    }
    return found;
  }

  async rowsWith(name: string, ids: readonly string[]): Promise<readonly string[]> {
    const all = Object.values(await this.rowsIn(name)).flat();
    return all.filter((row) => ids.some((id) => row.includes(id)));
  }

  async idsIn(name: string, tenant: TenantId): Promise<readonly string[]> {
    const text = 'SELECT chain_id FROM transition WHERE tenant_id = $1 AND sequence = 1';
    const rows = await this.query(name, text, tenant);
    return [tenant, ...rows.map(({ chain_id: id }) => String(id))];
  }
}

export type Process = Awaited<ReturnType<ShardedDeployment['start']>>;

/** The deployment has its own simulated systems. */
export class ShardedDeployment {
  readonly world = new World();
  /** In the order in which all processes have begun the statements. */
  readonly begun: Begun[] = [];
  /** A database with a name in this map refuses every statement with the error. */
  readonly away = new Map<string, Error>();
  before: (begun: Begun) => Promise<void> = async () => undefined;
  readonly silent = new Set<string>();
  readonly #databases: FourDatabases;

  constructor(databases: FourDatabases) {
    this.#databases = databases;
  }

  /** Returns the first tenant of each database, by database name. */
  async tenants(prefix: string): Promise<ReadonlyMap<string, TenantId>> {
    const found = new Map<string, TenantId>();
    for (let number = 0; found.size < NAMES.length; number += 1) {
      const id = await this.createTenant(`ten_${prefix}_${number}`);
      const shard = await this.shardOf(id);
      if (!found.has(shard)) found.set(shard, id);
    }
    return found;
  }

  /** @param names empty for a deployment with DynamoDB */
  async createTenant(text: string, names: readonly string[] = NAMES): Promise<TenantId> {
    const { client } = this.world.store.database;
    const { clock, entropy } = this.world;
    const pacing = { clock, entropy };
    const administration = new TenantAdministration(client, TABLES, 'ada', pacing);
    return administration.createTenant(text, { id: tenantId(text), databases: names });
  }

  known(name: string): KnownDatabase {
    const { client } = this.world.store.database;
    const { clock, entropy } = this.world;
    return new KnownDatabase({ client, registryTable: TABLES.registry, pacing: { clock, entropy } }, name);
  }

  /** Reads the row as `payonce db move-tenant` does. */
  async placeOf(id: TenantId, client = this.world.store.database.client): Promise<TenantPlace> {
    const { clock, entropy } = this.world;
    const place = await new TenantMoves(client, TABLES.registry, { clock, entropy }).read(id);
    invariant(place !== undefined, `there is no tenant ${id}`);
    return place;
  }

  knownAs(name: string, identity: number): PutCommand {
    const Item = { [KeyAttribute.partition]: RegistryRow.databases, [KeyAttribute.sort]: name, identity };
    return new PutCommand({ TableName: TABLES.registry, Item });
  }

  async shardOf(id: TenantId): Promise<string> {
    return String((await this.#row(id))['shard']);
  }

  async #row(id: TenantId): Promise<Record<string, unknown>> {
    const { client } = this.world.store.database;
    const { Item = {} } = await client.send(new GetCommand({ TableName: TABLES.registry, Key: tenantRowKey(id) }));
    return Item;
  }

  /** Does not move the tenant's rows. */
  async change(id: TenantId, shard: string): Promise<void> {
    const { client } = this.world.store.database;
    await client.send(new PutCommand({ TableName: TABLES.registry, Item: { ...(await this.#row(id)), shard } }));
  }

  /** Runs `payonce db move-tenant`; an undefined `to` aborts the move. */
  async move(id: TenantId, to: string | undefined, changes: MoveChanges = {}): Promise<void> {
    const { clock, entropy, store } = this.world;
    const { client = store.database.client, database = (_, given) => given, pacing = { clock, entropy } } = changes;
    const move = planMove(id, await this.placeOf(id, client), to);
    const [source, target] = [move.from, move.to].map((name) => database(name, this.#databases.database(name).owner));
    invariant(source !== undefined && target !== undefined, 'a database is missing');
    await moveTenant({ client, tables: TABLES, pacing, source, target, progress: () => undefined }, move);
  }

  /** The process crashes after the charge, so its claim stays open. */
  async crash({ tools }: Process, request: CreatePayment): Promise<void> {
    const { world } = this;
    const died = new Error('the process died');
    const charge: typeof world.processor.charge = async (...sent) => {
      await world.processor.charge(...sent);
      throw died;
    };
    const store: PaymentStore = {
      ...tools.store,
      release: () => Promise.reject(died),
      commit: () => Promise.reject(died),
    };
    await world.pay(request, { ...tools, store, processor: { ...world.processor, charge } }).catch((error: unknown) => {
      if (error !== died) throw error;
    });
  }

  async start() {
    const { clock, store } = this.world;
    const platform: AuthorityPlatform = {
      variables: { [POSTGRES_AUTHORITY]: JSON.stringify(SETTINGS) },
      clock,
      entropy: countingEntropy(),
      digest: systemDigest,
      documents: store.database.client,
      instruments: QUIET_INSTRUMENTS,
      secretsManager: () => Promise.reject(new Error('no secret is read')),
      openDatabase: ({ database = '' }) => this.#counted(database),
      // The machine may be slow, so there is no time limit if no database is silent.
      waitForOthers: () => (this.silent.size === 0 ? new Promise(() => undefined) : sleep(SILENT_MS)),
    };
    const { postgres } = await configuredAuthority(platform, TABLES);
    invariant(postgres !== undefined, 'the deployment has no PostgreSQL');
    const unreadable = (error: unknown): never => {
      throw error;
    };
    return {
      ...postgres,
      tools: {
        store: postgres.store,
        effects: postgres.approvals,
        orders: postgres.orders(),
        work: postgres.work(unreadable),
        orphanStore: postgres.effects(),
        holds: postgres.holds,
      },
    };
  }

  #counted(shard: string): Database {
    const database = this.#databases.database(shard);
    return {
      run: async (statement) => {
        this.begun.push({ shard, statement });
        await this.before({ shard, statement });
        if (this.silent.has(shard)) return new Promise<never>(() => undefined);
        const fault = this.away.get(shard);
        if (fault !== undefined) throw fault;
        return database.run(statement);
      },
      transaction: () => Promise.reject(new Error('no transaction is expected')),
    };
  }
}
