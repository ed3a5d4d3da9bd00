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
import { startPostgres } from '../support/postgres.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { fixed, sql } from './postgres-fixture.ts';

/**
 * Creates a database with Payonce's tables on the server of the run.
 *
 * @param clock the clock of the migrations @default all databases have the same identity
 * @returns its connection URL
 */
export async function createDatabase(clock: Clock = new SimulatedClock()): Promise<string> {
  const { url } = await startPostgres();
  const database = openTestDatabase(url);
  await migrate({ database, clock, migrations: readMigrations() });
  await database.close();
  return url;
}

/** Opens a database. @default 8 connections */
export function openTestDatabase(
  url: string,
  options: Pick<ConnectionOptions, 'connections' | 'isolation' | 'statementMs'> = {},
): OpenDatabase {
  const credentials = fixed(parseServerUrl(url));
  return openDatabase({ connections: 8, ...options, credentials, clock: { nowMs: () => Date.now() } });
}

/** Returns a database for a process that waits for `beforeCommit` before it commits a statement. */
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

/** Returns a database for one process, in which each statement can have a fault. */
export function databaseOf(actor: Pick<Actor, 'call'>, database: Database): Database {
  return {
    run: (statement) => actor.call(statement.name, ERRORS, () => database.run(statement)),
    transaction: (work) => actor.call('transaction', ERRORS, () => database.transaction(work)),
  };
}
