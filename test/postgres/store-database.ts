import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { PostgresTools } from '../../lambdas/postgres/attempts.ts';
import { type ConnectionOptions, type OpenDatabase, openDatabase } from '../../lambdas/postgres/connection.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { DatabaseFault } from '../../lambdas/postgres/faults.ts';
import { migrate } from '../../lambdas/postgres/migrate.ts';
import { readMigrations } from '../../lambdas/postgres/migrations.ts';
import { parseServerUrl } from '../../lambdas/postgres/server.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import type { Actor, FaultErrors } from '../support/fault-plan.ts';
import { asUser, startPostgres } from '../support/postgres.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { fixed, sql } from './postgres-fixture.ts';

const ROLE = 'payonce_functions';

/** Opened with the functions' role. */
export interface StoreDatabase extends OpenDatabase {
  /** A connection as the owner of the tables, for statements that the functions' role must not run. */
  readonly owner: OpenDatabase;
}

type Options = Pick<ConnectionOptions, 'connections' | 'isolation' | 'statementMs'>;

/**
 * @param clock the clock of the migrations. The time of the first migration identifies the database.
 * @default all databases have the same identity
 * @returns the connection URL of the owner of the tables
 */
export async function createDatabase(clock: Clock = new SimulatedClock()): Promise<string> {
  const { url } = await startPostgres();
  await prepareDatabase(url, clock);
  return url;
}

export async function prepareDatabase(url: string, clock: Clock): Promise<void> {
  const database = openUrl(url);
  try {
    await createRole(database, ROLE);
    await migrate({ database, clock, migrations: readMigrations(), role: ROLE });
  } finally {
    await database.close();
  }
}

/** Another test file may have created the role on the same server. */
export async function createRole(database: Database, name: string): Promise<void> {
  const hasRole = async (): Promise<boolean> =>
    (await database.run(sql('SELECT FROM pg_roles WHERE rolname = $1', name))).length > 0;
  if (await hasRole()) return;
  await database.run(sql(`CREATE ROLE ${name} LOGIN PASSWORD '${name}'`)).catch(async (error: unknown) => {
    if (!(await hasRole())) throw error;
  });
}

export function asFunctions(url: string): string {
  return asUser(url, ROLE, ROLE);
}

/** Opens a database as the functions do. @default 8 connections */
export function openTestDatabase(url: string, options: Options = {}): StoreDatabase {
  const database = openUrl(asFunctions(url), options);
  const owner = openUrl(url);
  return {
    run: (statement) => database.run(statement),
    transaction: (work) => database.transaction(work),
    close: async () => {
      await database.close();
      await owner.close();
    },
    owner,
  };
}

export function openUrl(url: string, options: Options = {}): OpenDatabase {
  const credentials = fixed(parseServerUrl(url));
  return openDatabase({ connections: 8, ...options, credentials, clock: { nowMs: () => Date.now() } });
}

export function heldBeforeCommit(database: Database, beforeCommit: () => Promise<void>): Database {
  return {
    run: (statement) =>
      database.transaction(async (transaction) => {
        await transaction.run(sql('SET LOCAL idle_in_transaction_session_timeout = 0'));
        const rows = await transaction.run(statement);
        await beforeCommit();
        return rows;
      }),
    transaction: (work) => database.transaction(work),
  };
}

export function toolsOn(database: Database, clock: Clock = new SimulatedClock()): PostgresTools {
  return { database, pacing: { clock, entropy: countingEntropy() } };
}

export const ERRORS: FaultErrors = {
  throttle: () => new RetryableError(DatabaseFault.conflict, 'injected serialization failure'),
  ambiguous: () => new AmbiguousError(DatabaseFault.ambiguous, 'injected loss of the response to COMMIT'),
};

/** Each statement or transaction fails if the process's plan has a fault. */
export function databaseOf(actor: Pick<Actor, 'call'>, database: Database): Database {
  return {
    run: (statement) => actor.call(statement.name, ERRORS, () => database.run(statement)),
    transaction: (work) => actor.call('transaction', ERRORS, () => database.transaction(work)),
  };
}
