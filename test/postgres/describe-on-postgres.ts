import { afterAll, beforeAll, describe } from '@jest/globals';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { PostgresTools } from '../../lambdas/postgres/attempts.ts';
import type { Database, Row, Runner, Statement } from '../../lambdas/postgres/database.ts';
import { sql } from './postgres-fixture.ts';
import { createDatabase, ERRORS, openTestDatabase, type StoreDatabase, toolsOn } from './store-database.ts';

/** Limits of a transaction of Aurora DSQL (user guide, "Cluster quotas and database limits"). */
export const DSQL_LIMITS = { rows: 3_000, bytes: 10 * 1_024 * 1_024 } as const;

/** Counts the rows that the session has changed, in this transaction or shortly before. */
const CHANGED = sql(`SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint AS rows
  FROM pg_stat_xact_user_tables`);

/** Runs a statement in a transaction that has no other statement, and refuses what Aurora DSQL refuses. */
export async function runAsOnDsql(transaction: Runner, statement: Statement): Promise<readonly Row[]> {
  const [before] = await transaction.run(CHANGED);
  const rows = await transaction.run(statement);
  const [after] = await transaction.run(CHANGED);
  if (Number(after?.['rows']) - Number(before?.['rows']) > DSQL_LIMITS.rows)
    throw new Error(`${statement.name}: transaction row limit exceeded`);
  // The rows that a statement writes are in its parameters.
  if (JSON.stringify(statement.values).length > DSQL_LIMITS.bytes)
    throw new Error(`${statement.name}: transaction size limit exceeded`);
  return rows;
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
          await runAsOnDsql(transaction, statement);
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
 * statement. The second has the outcomes of Aurora DSQL, because a statement fails to serialize if, and only if, a
 * rival has committed since its transaction began. PostgreSQL waits for the end of the rival's transaction; Aurora
 * DSQL finds the conflict when it commits.
 */
export function describeOnPostgres(
  register: (toolsOf: (clock?: Clock) => PostgresTools, plain: () => StoreDatabase, isFaulty: boolean) => void,
): void {
  for (const isolation of ['read committed', 'repeatable read'] as const) {
    const isFaulty = isolation === 'repeatable read';
    describe(`with isolation level ${isolation}${isFaulty ? ' and faults at each statement' : ''},`, () => {
      let database: StoreDatabase;
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
