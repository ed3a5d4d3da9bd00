import { existsSync } from 'node:fs';
import * as z from 'zod';
import type { Job } from '../jobs/use/job.ts';
import type { JobMarks } from '../jobs/use/job-marks.ts';
import { FIRST_SHARD } from '../kernel/contract/tables.ts';
import { loadedOnce } from '../kernel/loaded-once.ts';
import type { Secrets } from '../kernel/platform/secrets-manager.ts';
import type { Platform } from '../kernel/platform/system-platform.ts';
import { jsonOf, readVariable, secretId, type Variables } from '../kernel/platform/variables.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { StoreTables } from '../once/store/transact-items.ts';
import type { ReplayCache } from '../once/use/operation-runner.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { hasChain } from '../payments/store/postgres-chains.ts';
import { carryTelemetry } from '../postgres/carry-telemetry.ts';
import { openDatabase } from '../postgres/connection.ts';
import type { Database } from '../postgres/database.ts';
import { dsqlCredentials, regionOfEndpoint } from '../postgres/dsql.ts';
import { Outbox } from '../postgres/outbox.ts';
import { restingDatabase } from '../postgres/resting-database.ts';
import { isLoopback, type Server, secretCredentials, serverSecret } from '../postgres/server.ts';
import { type CarriedDatabase, carryJob } from './carry-job.ts';
import { POSTGRES_AUTHORITY, type PostgresSettings, REPLAY_CACHE_TABLE } from './contract.ts';
import { type PostgresStores, postgresStores } from './postgres-stores.ts';
import { replayTelemetry } from './replay-telemetry.ts';
import type { AuthorityStores } from './sharded-stores.ts';
import { checkAuthority, checkedDatabase } from './store/authority-state.ts';
import { KnownDatabase } from './store/known-database.ts';
import { TableReplayCache } from './store/replay-cache.ts';

export interface AuthorityPlatform extends Platform, Secrets {
  /** Opens the database. @default connects to the configured server */
  readonly openDatabase?: (settings: PostgresSettings) => Database;
  /**
   * Called when the first database has responded to a query. Resolves after the maximum wait for the other databases.
   * @default two seconds
   */
  readonly waitForOthers?: () => Promise<void>;
}

const address = {
  host: z.string().min(1).exactOptional(),
  port: z.int().min(1).max(65_535).exactOptional(),
  database: z.string().min(1).exactOptional(),
};

const settingsText = jsonOf(
  z
    .strictObject({
      secretId: secretId.exactOptional(),
      ...address,
      caFile: z.string().min(1).exactOptional(),
      shards: z
        .array(
          z.strictObject({
            name: z.string().min(1),
            count: z.int().min(1).exactOptional(),
            secretId: secretId.exactOptional(),
            ...address,
          }),
        )
        .exactOptional(),
    })
    .refine((given) => given.secretId !== undefined || regionOfEndpoint(given.host) !== undefined, {
      path: ['secretId'],
      error: 'is not set',
    }) satisfies z.ZodType<PostgresSettings>,
);

/**
 * Path of the CA certificates of RDS in the Lambda runtime (AWS Lambda developer guide, "Building Lambda functions with
 * Node.js", CA certificate loading).
 */
const RDS_CERTIFICATES = '/var/runtime/ca-cert.pem';

/** @throws Error naming the part that is missing or invalid */
export function readPostgresSettings(variables: Variables): PostgresSettings {
  return readVariable(POSTGRES_AUTHORITY, settingsText, variables);
}

/** The payments and orders are in one or several PostgreSQL databases. */
export interface PostgresAuthority extends AuthorityStores {
  readonly carryJob: (marks: JobMarks) => Job<string>;
  readonly replays: ReplayCache;
  readonly copies: DynamoDbStore;
}

/**
 * The stores share one connection, which opens at its first use. They refuse to work if DynamoDB is the system of
 * record.
 */
export function openPostgresAuthority(platform: AuthorityPlatform, tables: StoreTables): PostgresAuthority {
  const { stores, outbox } = openStores(platform, tables, readPostgresSettings(platform.variables));
  return {
    ...stores,
    carryJob: (marks) => carryJob({ ...outbox, marks }),
    ...sharedParts(platform, tables),
  };
}

export function sharedParts(platform: AuthorityPlatform, tables: StoreTables) {
  const { documents, clock, entropy, retention } = platform;
  return {
    replays: replayCache(platform),
    copies: new DynamoDbStore(documents, tables, { clock, entropy, retention }),
  };
}

/** @param shard the name of this database, and the names of all databases @default there is one database */
export function openStores(
  platform: AuthorityPlatform,
  tables: StoreTables,
  settings: PostgresSettings,
  shard?: { readonly name: string; readonly names: readonly string[] },
): { readonly stores: PostgresStores; readonly outbox: CarriedDatabase } {
  const { documents, clock, entropy, retention, instruments } = platform;
  const pacing = { clock, entropy, retention };
  const { name, names } = shard ?? { name: FIRST_SHARD, names: [FIRST_SHARD] };
  const known = new KnownDatabase({ client: documents, registryTable: tables.registry, pacing }, name);
  const connected = platform.openDatabase?.(settings) ?? connect(platform, settings, known);
  const database = shard === undefined ? connected : restingDatabase(connected, clock);
  const has = (chainId: string): Promise<boolean> => hasChain({ database, pacing }, chainId);
  let isImported = false;
  const check = checkAuthority({ client: documents, tables, pacing }, 'postgres', async (imported) => {
    if (isImported) return undefined;
    const other = Object.keys(imported).find((each) => !names.includes(each));
    if (other !== undefined) return `payments were imported into the database ${other}, which is not in the settings`;
    const { [name]: example = '' } = imported;
    isImported = example === '' || (await has(example));
    if (isImported) return undefined;
    return `${example} was imported, but is not in the database ${name}, which may be the wrong one`;
  });
  const observer = carryTelemetry(instruments, shard?.name);
  const stores = postgresStores({
    database: checkedDatabase(database, () => check(true)),
    pacing,
    client: documents,
    tables,
    observer,
  });
  const { carrier, tools } = stores;
  const record = (): Promise<void> => known.record(tools.database);
  return { stores, outbox: { outbox: new Outbox(tools), carrier, observer, clock, record } };
}

function replayCache({ documents, clock, entropy, instruments, variables }: AuthorityPlatform): ReplayCache {
  const table = variables[REPLAY_CACHE_TABLE];
  if (table === undefined) return new ProcessReplayCache();
  return new TableReplayCache({ client: documents, table, clock, entropy, observer: replayTelemetry(instruments) });
}

function connect(
  { clock, documents, secretsManager }: AuthorityPlatform,
  { secretId: id, caFile, ...inSettings }: PostgresSettings,
  known: KnownDatabase,
): Database {
  const accept = (identity: number | undefined): Promise<void> => known.check(identity);
  if (id === undefined) {
    const keys = (): ReturnType<typeof documents.config.credentials> => documents.config.credentials();
    const credentials = dsqlCredentials({ endpoint: inSettings.host, keys, clock });
    return openDatabase({ clock, accept, credentials, tls: {}, engine: 'dsql' });
  }
  const secrets = loadedOnce(async () => {
    const { SecretReader } = await import('../kernel/platform/secrets-manager.ts');
    return new SecretReader<Server>(await secretsManager(), clock, serverSecret(inSettings));
  });
  const isLocal = inSettings.host !== undefined && isLoopback(inSettings.host) && caFile === undefined;
  return openDatabase({
    clock,
    accept,
    tls: isLocal ? undefined : { caFile: caFile ?? rdsCertificates() },
    credentials: secretCredentials(
      {
        active: async (asked) => (await secrets()).active(asked),
        renewed: async (asked) => (await secrets()).renewed(asked),
      },
      id,
    ),
  });
}

function rdsCertificates(): string | undefined {
  return existsSync(RDS_CERTIFICATES) ? RDS_CERTIFICATES : undefined;
}
