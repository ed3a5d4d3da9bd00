import { expect, test } from '@jest/globals';
import { PostgresExpiredRecords } from '../../lambdas/operators/store/postgres-expired-records.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { timestamp } from '../../lambdas/postgres/values.ts';
import { describeOnPostgres } from '../postgres/describe-on-postgres.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { describeExpiredRecords, type PutRecord } from './expired-records-suite.ts';

/** Every status other than `COMPLETED` is stored as an open record. */
async function put(database: Database, { key, status, expiresAtSeconds }: PutRecord): Promise<void> {
  const expiry = expiresAtSeconds === undefined ? null : timestamp(expiresAtSeconds * 1000);
  const is = status === 'COMPLETED' ? status : 'INPROGRESS';
  await database.run(
    sql(
      `INSERT INTO idempotency (operation_id, status, owner, expires_at) VALUES ($1, $2, 'owner-a', $3)
        ON CONFLICT (operation_id) DO UPDATE SET status = EXCLUDED.status, expires_at = EXCLUDED.expires_at`,
      key,
      is,
      expiry,
    ),
  );
}

describeOnPostgres((toolsOf, database, isFaulty) => {
  describeExpiredRecords('postgres', async () => {
    await database().run(sql('DELETE FROM idempotency'));
    return {
      records: new PostgresExpiredRecords(toolsOf()),
      losesResponses: isFaulty,
      put: (record) => put(database(), record),
      keys: async () =>
        (await database().run(sql('SELECT operation_id FROM idempotency'))).map(({ operation_id }) =>
          String(operation_id),
        ),
    };
  });

  test('1,200 records that expired in the same second are each found once, in four pages', async () => {
    await database().run(sql('DELETE FROM idempotency'));
    await database().run(
      sql(`INSERT INTO idempotency (operation_id, status, owner, expires_at)
        SELECT 'OP#' || number, 'COMPLETED', 'owner-a', '1970-01-01T00:00:09Z' FROM generate_series(1, 1200) AS number`),
    );
    const records = new PostgresExpiredRecords(toolsOf());
    const found = new Set<string>();
    let pages = 0;
    let after: string | undefined;
    do {
      const page = await records.scan({ segment: 0, segments: 1, ...(after === undefined ? {} : { after }) }, 10);
      for (const { key } of page.found) found.add(key);
      after = page.next;
      pages += 1;
    } while (after !== undefined);
    expect([found.size, pages]).toEqual([1_200, 4]);
  });

  test('callbacks of other programs expire 30 days after their arrival, but not while they are retried', async () => {
    await database().run(sql('DELETE FROM idempotency'));
    await database().run(sql('DELETE FROM orphan'));
    for (const [id, received, foreign, due] of [
      ['cb_expired', '1970-01-01T00:00:01Z', true, null],
      ['cb_newer', '1970-01-01T00:00:03Z', true, null],
      ['cb_retried', '1970-01-01T00:00:01Z', true, '1970-01-02T00:00:00Z'],
      ['cb_own', '1970-01-01T00:00:01Z', false, null],
    ] as const)
      await database().run(
        sql(
          `INSERT INTO orphan (operation_id, received_at, reason, is_foreign, due_at, event)
            VALUES ($1, $2, 'payment_unknown', $3, $4, '{}')`,
          id,
          received,
          foreign,
          due,
        ),
      );
    const records = new PostgresExpiredRecords(toolsOf());
    const { next = '' } = await records.scan({ segment: 0, segments: 1 }, 0);
    const { found } = await records.scan({ segment: 0, segments: 1, after: next }, 30 * 86_400 + 2);
    expect(found).toEqual([{ key: 'callback cb_expired', expiresAtSeconds: 30 * 86_400 + 1 }]);
    for (const key of ['callback cb_expired', 'callback cb_retried', 'callback cb_own'])
      await records.remove({ key, expiresAtSeconds: 1 });
    const left = await database().run(sql('SELECT operation_id FROM orphan ORDER BY operation_id'));
    expect(left.map(({ operation_id: id }) => id)).toEqual(['cb_newer', 'cb_own', 'cb_retried']);
  });
});
