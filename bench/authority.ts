import { mock } from 'node:test';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { Client } from 'pg';
import { POSTGRES_AUTHORITY, REPLAY_CACHE_TABLE } from '../lambdas/authority/contract.ts';
import { openPostgresAuthority } from '../lambdas/authority/postgres-authority.ts';
import { callbackOperation } from '../lambdas/callbacks/ids.ts';
import { ownerToken } from '../lambdas/kernel/ids.ts';
import { invariant } from '../lambdas/kernel/invariant.ts';
import { documentClient } from '../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../lambdas/kernel/platform/platform.ts';
import type { StoreTables } from '../lambdas/once/store/transact-items.ts';
import { PostgresEffects } from '../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../lambdas/payments/store/postgres-store.ts';
import { createPayment } from '../lambdas/payments/use/create-payment.ts';
import type { OpenDatabase } from '../lambdas/postgres/connection.ts';
import type { Database, Statement } from '../lambdas/postgres/database.ts';
import { migrate } from '../lambdas/postgres/migrate.ts';
import { readMigrations } from '../lambdas/postgres/migrations.ts';
import { engineProcess } from '../test/bench/bench-engine.ts';
import { meteredClient } from '../test/bench/bench-metered-client.ts';
import { trivialProcessor, typicalPayment } from '../test/bench/bench-typical-payment.ts';
import { openRecord, outcomeTransition, paymentIdFor, pendingTransition } from '../test/payments/payment-fixtures.ts';
import { heldBeforeCommit, openUrl } from '../test/postgres/store-database.ts';
import { QUIET_INSTRUMENTS } from '../test/support/quiet-instruments.ts';
import { until } from '../test/support/until.ts';
import { median } from './median.ts';
import { startPostgres } from './postgres.ts';
import { IN_FLIGHT, ONE_AT_A_TIME, type Pay, type RatioOptions, ratios } from './speed.ts';

/** Each ratio is the program's value divided by the value of Payonce on DynamoDB. */
interface AuthorityCost {
  readonly program: string;
  /** Each statement is a round trip to PostgreSQL. */
  readonly statements: number;
  readonly calls: number;
  /** Compares the CPU times of this process, with sequential payments. */
  readonly cpuRatio: number;
  /** Payments are sequential. */
  readonly timeRatio: number;
  /** Many payments are in flight. */
  readonly throughputRatio: number;
}

export interface AuthorityCosts {
  readonly dynamodb: AuthorityCost;
  readonly postgres: AuthorityCost;
  readonly rocketRides: AuthorityCost;
  /**
   * Median time from the start of a commit to the response to a concurrent duplicate, which waits for this commit. In
   * milliseconds.
   */
  readonly duplicateMs: number;
  /** A replay in a process that has not cached the response, with and without the table ReplayCache. */
  readonly coldReplay: { readonly cached: RoundTrips; readonly uncached: RoundTrips };
}

interface RoundTrips {
  readonly statements: number;
  readonly calls: number;
}

/** rocket-rides has the same number. */
const CONNECTIONS = 4;
/** rocket-rides uses serializable transactions, which can conflict. */
const MAX_CONFLICTS = 1_000;
const CONFLICT = '40001';

/**
 * Payonce with PostgreSQL includes the copy to DynamoDB before the response. All three programs run on the same
 * machine, with a processor that responds immediately.
 */
export async function measureAuthority(
  config: DynamoDBClientConfig,
  tables: StoreTables,
  options: Omit<RatioOptions, 'concurrency'>,
): Promise<AuthorityCosts> {
  const server = await startPostgres();
  const { fetch } = globalThis;
  // rocket-rides calls its processor with `fetch`.
  globalThis.fetch = async () => Response.json({ id: 'ch_bench' }, { status: 201 });
  const url = server.url(server.port);
  const database = openUrl(url, { connections: CONNECTIONS });
  try {
    await migrate({ database, clock: systemClock, migrations: readMigrations() });
    const payonce = (client: DynamoDBClient, on?: Database): Pay => payWithPayonce(client, tables, on);
    const rocketRides = await payWithRocketRides(url);
    const client = new DynamoDBClient({ ...config, maxAttempts: 1 });
    const subjects: readonly (readonly [string, Pay])[] = [
      ['Payonce, PostgreSQL', payonce(client, database)],
      ['rocket-rides', rocketRides],
    ];
    const [ofOne, ofMany] = [
      await ratios(payonce(client), subjects, { ...options, concurrency: ONE_AT_A_TIME }),
      await ratios(payonce(client), subjects, { ...options, concurrency: IN_FLIGHT }),
    ];
    client.destroy();
    const costOf = async (index: 0 | 1, pay: (client: DynamoDBClient) => Pay): Promise<AuthorityCost> => {
      const [one, many] = [ofOne[index], ofMany[index]];
      invariant(one !== undefined && many !== undefined, 'a program was not measured');
      return {
        program: one.subject,
        ...(await roundTrips(config, pay)),
        cpuRatio: 1 / one.cpuRatio,
        timeRatio: 1 / one.timeRatio,
        throughputRatio: 1 / many.timeRatio,
      };
    };
    const costs = {
      dynamodb: {
        program: 'Payonce, DynamoDB',
        ...(await roundTrips(config, payonce)),
        cpuRatio: 1,
        timeRatio: 1,
        throughputRatio: 1,
      },
      postgres: await costOf(0, (metered) => payonce(metered, database)),
      rocketRides: await costOf(1, () => rocketRides),
    };
    await refuseUncopied(database);
    return {
      ...costs,
      duplicateMs: await waitingDuplicate(database, options.size.duplicates),
      coldReplay: await coldReplay(config, tables, database),
    };
  } finally {
    globalThis.fetch = fetch;
    await database.close();
    await server.stop();
  }
}

/** @param database the authority @default DynamoDB is the authority */
function payWithPayonce(client: DynamoDBClient, tables: StoreTables, database?: Database): Pay {
  const own = engineProcess(client, tables, trivialProcessor());
  const tools =
    database === undefined ? own : { ...own, store: authorityOn(database, documentClient(client), tables).store };
  return async (key) => {
    const { kind } = await createPayment(tools, typicalPayment(key));
    invariant(kind === 'first', `the payment ${key} was not executed: ${kind}`);
  };
}

function authorityOn(
  database: Database,
  documents: ReturnType<typeof documentClient>,
  tables: StoreTables,
  variables: Readonly<Record<string, string>> = {},
) {
  return openPostgresAuthority(
    {
      variables: { [POSTGRES_AUTHORITY]: JSON.stringify({ secretId: 'bench' }), ...variables },
      clock: systemClock,
      entropy: systemEntropy,
      digest: systemDigest,
      documents,
      instruments: QUIET_INSTRUMENTS,
      secretsManager: () => Promise.reject(new Error('the database needs no secret')),
      openDatabase: () => database,
    },
    tables,
  );
}

async function payWithRocketRides(url: string): Promise<Pay> {
  process.env['DATABASE_URL'] = url;
  const { handler } = (await import(new URL('peers/rocket-rides.mjs', import.meta.url).href)) as {
    readonly handler: (event: object) => Promise<{ readonly statusCode: number }>;
  };
  const { amountMinor, currency, source } = typicalPayment('rocket-rides');
  const body = JSON.stringify({ amount: amountMinor, currency, source });
  return async (key) => {
    const { statusCode } = await retried(() => handler({ headers: { 'Idempotency-Key': key }, body }));
    invariant(statusCode === 201, `rocket-rides did not execute the payment ${key}: ${statusCode}`);
  };
}

/** rocket-rides leaves retries to its client. */
async function retried<Result>(request: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await request();
    } catch (error) {
      if (attempt === MAX_CONFLICTS || (error as { readonly code?: unknown }).code !== CONFLICT) throw error;
    }
  }
}

/** An earlier payment opens the connections. */
async function roundTrips(config: DynamoDBClientConfig, make: (client: DynamoDBClient) => Pay): Promise<RoundTrips> {
  const metered = meteredClient(config);
  const pay = make(metered.client);
  const name = `round-trips-${performance.now()}`;
  await pay(`${name}-first`);
  try {
    return await counted(metered, () => pay(name));
  } finally {
    metered.client.destroy();
  }
}

async function counted(
  { calls }: Pick<ReturnType<typeof meteredClient>, 'calls'>,
  run: () => Promise<unknown>,
): Promise<RoundTrips> {
  const before = calls.length;
  const queries = mock.method(Client.prototype, 'query');
  try {
    await run();
    return { statements: queries.mock.callCount(), calls: calls.length - before };
  } finally {
    queries.mock.restore();
  }
}

/** The table of idempotency records, which has the same key, serves as ReplayCache. */
async function coldReplay(
  config: DynamoDBClientConfig,
  tables: StoreTables,
  database: Database,
): Promise<AuthorityCosts['coldReplay']> {
  const metered = meteredClient(config);
  const replay = async (key: string, variables: Readonly<Record<string, string>>): Promise<RoundTrips> => {
    const newProcess = () => {
      const { store, replays } = authorityOn(database, documentClient(metered.client), tables, variables);
      return { ...engineProcess(metered.client, tables, trivialProcessor()), store, replays };
    };
    await createPayment(newProcess(), typicalPayment(key));
    return counted(metered, async () => {
      const { kind } = await createPayment(newProcess(), typicalPayment(key));
      invariant(kind === 'replay', `the payment ${key} was not replayed: ${kind}`);
    });
  };
  try {
    return {
      cached: await replay('cold-cached', { [REPLAY_CACHE_TABLE]: tables.idempotency }),
      uncached: await replay('cold-uncached', {}),
    };
  } finally {
    metered.client.destroy();
  }
}

const toolsOn = (database: Database) => ({ database, pacing: { clock: systemClock, entropy: systemEntropy } });
/** The store does not copy its rows to DynamoDB, so that measured waits do not include the copy. */
const storeOn = (database: Database) => new PostgresStore(toolsOn(database));

/**
 * Measures the time from the start of the first commit to the end of the second transaction, which waits for it.
 * @returns the median, in milliseconds
 */
async function waitingDuplicate(database: OpenDatabase, count: number): Promise<number> {
  const tookMs: number[] = [];
  for (let each = 0; each < count; each += 1) {
    const commit = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const heldOpen = heldBeforeCommit(database, async () => {
      begun.resolve();
      await commit.promise;
    });
    const paymentId = paymentIdFor(`duplicate-${each}`);
    const pending = pendingTransition(paymentId);
    await storeOn(database).claim({ record: openRecord(paymentId), pending });
    const operationId = callbackOperation(systemDigest, 'memory', `duplicate-${each}`);
    const transitions = [outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' })];
    const record = (on: Database, owner: string) =>
      new PostgresEffects(toolsOn(on), storeOn(on)).recordEffect({
        record: { operationId, paymentId, owner: ownerToken(owner), recordedAtMs: 0 },
        transitions,
      });
    const first = record(heldOpen, 'first');
    await begun.promise;
    const duplicate = record(database, 'duplicate');
    await until(async () => ((await database.run(WAITING)).length > 0 ? true : undefined));
    const begunMs = performance.now();
    commit.resolve();
    const { kind } = await duplicate;
    tookMs.push(performance.now() - begunMs);
    await first;
    invariant(kind === 'recorded_before', `the duplicate was ${kind}`);
  }
  return median(tookMs);
}

const WAITING: Statement = {
  name: 'bench-waiting',
  text: 'SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()',
  values: [],
};

/** If rows were not copied to DynamoDB, the payments would look faster than they are. */
async function refuseUncopied(database: OpenDatabase): Promise<void> {
  const [row] = await database.run({ name: '', text: 'SELECT count(*) AS waiting FROM outbox', values: [] });
  invariant(row?.['waiting'] === 0, `${String(row?.['waiting'])} rows were not copied`);
}
