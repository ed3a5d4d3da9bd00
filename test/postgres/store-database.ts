import { afterAll, beforeAll, describe } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { PostgresTools } from '../../lambdas/postgres/attempts.ts';
import { type ConnectionOptions, type OpenDatabase, openDatabase } from '../../lambdas/postgres/connection.ts';
import type { Database, Statement } from '../../lambdas/postgres/database.ts';
import { DatabaseFault } from '../../lambdas/postgres/faults.ts';
import { migrate } from '../../lambdas/postgres/migrate.ts';
import { readMigrations } from '../../lambdas/postgres/migrations.ts';
import { parseServerUrl } from '../../lambdas/postgres/server.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import type { Actor, FaultErrors } from '../support/fault-plan.ts';
import { startPostgres } from '../support/postgres.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { fixed } from './postgres-fixture.ts';

/** Creates a database with Payonce's tables on the server of the run. @returns its connection URL */
export async function createDatabase(): Promise<string> {
  const { url } = await startPostgres();
  const database = openTestDatabase(url);
  await migrate({ database, clock: new SimulatedClock(), migrations: readMigrations() });
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

export function toolsOn(database: Database, clock: Clock = new SimulatedClock()): PostgresTools {
  return { database, pacing: { clock, entropy: countingEntropy() } };
}

const ERRORS: FaultErrors = {
  throttle: () => new RetryableError(DatabaseFault.conflict, 'injected serialization failure'),
  ambiguous: () => new AmbiguousError(DatabaseFault.ambiguous, 'injected loss of the response to COMMIT'),
};

/** Returns the database as one process sees it: each statement can have a fault. */
export function databaseOf(actor: Pick<Actor, 'call'>, database: Database): Database {
  return {
    run: (statement) => actor.call(statement.name, ERRORS, () => database.run(statement)),
    transaction: (work) => actor.call('transaction', ERRORS, () => database.transaction(work)),
  };
}

/**
 * Returns a database in which each statement first fails to serialize and is rolled back, then commits but loses its
 * response, and only then responds.
 */
function withFaultsAtEachStatement(database: Database): Database {
  const attempts = new WeakMap<Statement, number>();
  return {
    run: async (statement) => {
      const attempt = attempts.get(statement) ?? 0;
      attempts.set(statement, attempt + 1);
      if (attempt === 0) {
        return database.transaction(async (transaction) => {
          await transaction.run(statement);
          throw ERRORS.throttle();
        });
      }
      const rows = await database.run(statement);
      if (attempt === 1) throw ERRORS.ambiguous();
      return rows;
    },
    transaction: (work) => database.transaction(work),
  };
}

/**
 * Registers contract tests twice: with the isolation level READ COMMITTED; and with REPEATABLE READ and faults at each
 * statement, which is how Aurora DSQL behaves.
 */
export function describeOnPostgres(
  register: (toolsOf: (clock?: Clock) => PostgresTools, plain: () => Database, isFaulty: boolean) => void,
): void {
  for (const isolation of ['read committed', 'repeatable read'] as const) {
    const isFaulty = isolation === 'repeatable read';
    describe(`${isolation}${isFaulty ? ' with faults at each statement' : ''}`, () => {
      let database: OpenDatabase;
      beforeAll(async () => {
        database = openTestDatabase(await createDatabase(), { isolation });
      });
      afterAll(() => database.close());
      register(
        (clock) => toolsOn(isFaulty ? withFaultsAtEachStatement(database) : database, clock),
        () => database,
        isFaulty,
      );
    });
  }
}
