import { configuredAuthority } from '../../lambdas/authority/configured-authority.ts';
import { POSTGRES_AUTHORITY } from '../../lambdas/authority/contract.ts';
import { finishImport, type ImportTools } from '../../lambdas/authority/import-authority.ts';
import type { AuthorityPlatform } from '../../lambdas/authority/postgres-authority.ts';
import { postgresStores } from '../../lambdas/authority/postgres-stores.ts';
import { AuthorityLog } from '../../lambdas/authority/store/authority-log.ts';
import type { Authority } from '../../lambdas/jobs/contract/jobs.ts';
import { FIRST_SHARD } from '../../lambdas/kernel/contract/tables.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { DynamoDbApprovals } from '../../lambdas/operators/store/dynamodb-approvals.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { readMigrations, tablesOf } from '../../lambdas/postgres/migrations.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import type { StoreDatabase } from '../postgres/store-database.ts';
import { TABLES } from '../world/tables.ts';
import { World, type WorldOptions } from '../world/world.ts';

type Around = <Result>(command: string, apply: () => Promise<Result>) => Promise<Result>;

const AT_ONCE: Around = (_command, apply) => apply();

export class MovingDeployment {
  readonly world: World;
  readonly #database: StoreDatabase;

  constructor(database: StoreDatabase, options: WorldOptions = {}) {
    this.#database = database;
    this.world = new World(options);
  }

  async begin(): Promise<this> {
    for (const table of tablesOf(readMigrations())) await this.#database.owner.run(sql(`TRUNCATE ${table}`));
    await this.world.store.activity.recordSettings({ authority: 'dynamodb' });
    return this;
  }

  /** @param around called for each call to DynamoDB */
  async start(authority: Authority, around: Around = AT_ONCE) {
    const { clock, entropy, store } = this.world;
    const platform: AuthorityPlatform = {
      variables: authority === 'postgres' ? { [POSTGRES_AUTHORITY]: '{"secretId":"database"}' } : {},
      clock,
      entropy,
      digest: systemDigest,
      documents: store.database.clientWith(around),
      instruments: systemInstruments,
      secretsManager: () => Promise.reject(new Error('unexpected read of a secret')),
      openDatabase: () => this.#database,
    };
    const { client, postgres } = await configuredAuthority(platform, TABLES);
    const pacing = { clock, entropy };
    const own = postgres?.store ?? new DynamoDbStore(client, TABLES, pacing);
    return { store: own, effects: postgres?.approvals ?? new DynamoDbApprovals(client, TABLES, pacing, own) };
  }

  tools(
    {
      client = this.world.store.database.client,
      database = this.#database,
    }: Partial<Pick<ImportTools, 'client'> & { readonly database: Database }> = {},
    clock: Clock = this.world.clock,
  ): ImportTools {
    const opened = { client, tables: TABLES, pacing: { clock, entropy: this.world.entropy } };
    return { ...opened, databases: [{ name: FIRST_SHARD, database }], log: new AuthorityLog(opened, 'ada') };
  }

  finish(tools = this.tools()): ReturnType<typeof finishImport> {
    return finishImport(tools, { segments: 2, progress: () => undefined });
  }

  /** Makes no authority check. */
  postgres() {
    const { pacing, client } = this.tools();
    const observer = { stopped: () => undefined, failed: () => undefined, observed: () => undefined };
    return postgresStores({ database: this.#database, pacing, client, tables: TABLES, observer });
  }
}
