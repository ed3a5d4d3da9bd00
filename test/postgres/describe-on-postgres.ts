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

/** Throws an Error if the statement exceeds a limit of Aurora DSQL. */
export async function runAsOnDsql(transaction: Runner, statement: Statement): Promise<readonly Row[]> {
  const [before] = await transaction.run(CHANGED);
  const rows = await transaction.run(statement);
  const [after] = await transaction.run(CHANGED);
  if (Number(after?.['rows']) - Number(before?.['rows']) > DSQL_LIMITS.rows)
    throw new Error(`${statement.name}: transaction row limit exceeded`);
  // A statement receives all rows that it writes as parameters, so their size is checked.
  if (JSON.stringify(statement.values).length > DSQL_LIMITS.bytes)
    throw new Error(`${statement.name}: transaction size limit exceeded`);
  return rows;
}

/**
 * The first attempt of each statement fails with a serialization error and is rolled back, the second one commits but
 * its response is lost, and the third one succeeds.
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
 * statement. REPEATABLE READ has the same outcomes as Aurora DSQL: a statement fails with a serialization error if, and
 * only if, a rival has committed a conflicting change since the statement's transaction began. Only the time differs:
 * PostgreSQL waits until the rival's transaction ends, and Aurora DSQL detects the conflict when the statement commits.
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
