import { RetryableError } from '../../kernel/faults.ts';
import { shardOf } from '../../kernel/platform/items.ts';
import { rounds } from '../../once/use/rounds.ts';
import { type PostgresTools, writeRows } from '../../postgres/attempts.ts';
import type { Carrier } from '../../postgres/carry.ts';
import { UniqueViolation } from '../../postgres/database.ts';
import { OUTBOX_SHARDS, Outbox } from '../../postgres/outbox.ts';
import { timestamp } from '../../postgres/values.ts';
import type { ActivityDraft } from '../domain/activity.ts';
import { activityRowFor } from './postgres-activity.ts';

/**
 * A chain is stopped if it is no longer copied to DynamoDB, because the copy differs or lacks a row. After a restore of
 * PostgreSQL, that copy can contain personal data that PostgreSQL lacks, so the first erasure of a stopped chain is
 * always written.
 */
const ERASE = `WITH erased AS (
  DELETE FROM details WHERE chain_id = $1 RETURNING part
), logged AS (
  INSERT INTO activity (chain, sequence, occurred_at, action, body, prev_hash, hash)
  SELECT chain, sequence, occurred_at, action, body::json, prev_hash, hash
  FROM json_to_recordset($2::json) AS given (chain text, sequence integer, occurred_at timestamptz, action text,
    body text, prev_hash bytea, hash bytea)
  WHERE EXISTS (SELECT 1 FROM erased) OR EXISTS (
    SELECT 1 FROM outbox WHERE chain_id = $1
    HAVING count(stopped_at) > 0 AND count(CASE WHEN kind = 'erasure' THEN 1 END) = 0
  )
  RETURNING sequence
), announced AS (
  INSERT INTO outbox (chain_id, kind, sequence, shard, created_at)
  SELECT $1::text, 'erasure', sequence, $3::integer, $4::timestamptz FROM logged
)
SELECT part FROM erased`;

/**
 * Erases all personal data of a payment or an order: first in PostgreSQL, together with the log entry, and then the
 * copies in DynamoDB. The commitments stay in the chain.
 *
 * @param draft the log entry; its first id is the id of the payment or the order
 * @returns false when there is no personal data, or it was already erased; then nothing is recorded
 * @throws RetryableError `erasure_unfinished` while copies may exist; a repeated erasure continues
 */
export async function erasePostgresDetails(
  tools: PostgresTools,
  carrier: Carrier,
  draft: ActivityDraft,
): Promise<boolean> {
  const [id = ''] = draft.about;
  const outbox = new Outbox(tools);
  let isErased = false;
  // Repeat, because a statement does not delete rows that were committed after it began, for example the copy of a
  // reason that an approval wrote while the statement waited for it.
  await rounds(`the details of ${id}`, async () => {
    const isAnyErased = await eraseRows(tools, id, draft);
    isErased ||= isAnyErased;
    return isAnyErased ? 'again' : undefined;
  });
  if (!isErased && !(await outbox.hasErasure(id))) return false;
  // The copies of a stopped chain are also deleted, but its erasure stays in the outbox until the chain is copied
  // again.
  const isStopped = (await carrier.carry(id)) === 'stopped';
  if (!isStopped && (await outbox.hasErasure(id))) {
    throw new RetryableError('erasure_unfinished', `the copied details of ${id} are not erased yet`, {
      retryAfterSeconds: 60,
    });
  }
  return true;
}

async function eraseRows(tools: PostgresTools, id: string, draft: ActivityDraft): Promise<boolean> {
  const createdAt = timestamp(tools.pacing.clock.nowMs());
  return rounds<boolean>('the activity log', async () => {
    const entry = await activityRowFor(tools, draft);
    const values = [id, JSON.stringify([entry]), shardOf(id, OUTBOX_SHARDS), createdAt];
    try {
      return (await writeRows(tools, { name: 'details-erase', text: ERASE, values })).length > 0;
    } catch (error) {
      if (error instanceof UniqueViolation) return 'again';
      throw error;
    }
  });
}
