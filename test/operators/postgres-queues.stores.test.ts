import { expect, test } from '@jest/globals';
import { PostgresQueues } from '../../lambdas/operators/store/postgres-queues.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { PostgresUnfinishedWork } from '../../lambdas/resolving/store/postgres-unfinished.ts';
import { describeOnPostgres } from '../postgres/describe-on-postgres.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { describeQueueLists } from './queue-lists-suite.ts';

async function emptied(database: Database): Promise<void> {
  for (const table of ['idempotency', 'work', 'orphan']) await database.run(sql(`DELETE FROM ${table}`));
}

describeOnPostgres((toolsOf, database) => {
  describeQueueLists('postgres', async (clock) => {
    await emptied(database());
    const payments = new PostgresStore(toolsOf(clock));
    return {
      lists: new PostgresQueues(toolsOf(clock)),
      payments,
      effects: new PostgresEffects(toolsOf(clock), payments),
      work: new PostgresUnfinishedWork(toolsOf(clock)),
    };
  });

  test('a long queue is counted up to a limit, and its summary says that there are more entries', async () => {
    await emptied(database());
    const fill = (from: number, to: number) =>
      database().run(
        sql(
          `INSERT INTO work (kind, chain_id, subject, queue, due_at, since)
            SELECT 'hold', 'pay_' || number, '', 'hold', '1970-01-01Z', '1970-01-01Z'
            FROM generate_series($1::integer, $2::integer) AS number`,
          from,
          to,
        ),
      );
    const lists = new PostgresQueues(toolsOf());
    await fill(1, 1_000);
    expect(await lists.summary('holds')).toEqual({ waiting: 1_000, hasMore: false, oldestMs: 0 });
    await fill(1_001, 1_002);
    expect(await lists.summary('holds')).toEqual({ waiting: 1_000, hasMore: true, oldestMs: 0 });
  });

  test('an unreadable queue entry is listed as waiting for an operator', async () => {
    await emptied(database());
    await database().run(
      sql(`INSERT INTO work (kind, chain_id, subject, queue, due_at, since, reason)
        VALUES ('return', 'pay_a', 'ch_1', 'return', '1970-01-01Z', '1970-01-01Z', 'of a later version')`),
    );
    const entries = await new PostgresQueues(toolsOf()).page('returns', { limit: 9 });
    expect(entries).toEqual([{ place: { shard: 0, sort: 'pay_a ch_1' }, entry: { needsOperator: true } }]);
  });
});
