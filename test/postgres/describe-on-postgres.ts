import { afterAll, beforeAll, describe } from '@jest/globals';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { PostgresTools } from '../../lambdas/postgres/attempts.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import type { Database, Statement } from '../../lambdas/postgres/database.ts';
import { createDatabase, ERRORS, openTestDatabase, toolsOn } from './store-database.ts';

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
 * Registers contract tests twice: with the isolation level READ COMMITTED, and with REPEATABLE READ and faults at each
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
