import type { Item } from '../../kernel/platform/items.ts';
import { systemDigest } from '../../kernel/platform/platform.ts';
import { type PostgresTools, readRows } from '../../postgres/attempts.ts';
import type { Row } from '../../postgres/database.ts';
import { byteText, timestamp, valuesOf } from '../../postgres/values.ts';
import { type ActivityDraft, type ActivityEntry, nameOfChain, nextEntry } from '../domain/activity.ts';
import { parseActivity } from './dynamodb-activity.ts';

/**
 * Returns the row of an action's entry, for the statement that also writes the action's effect. If a rival's entry takes
 * the sequence number first, the statement violates `activity_pkey`, and must be repeated with a new row.
 */
export async function activityRowFor(tools: PostgresTools, draft: ActivityDraft): Promise<object> {
  const [newest] = await readRows(tools, {
    name: 'activity-newest',
    text: 'SELECT body, prev_hash, hash FROM activity WHERE chain = $1 ORDER BY sequence DESC LIMIT 1',
    values: [nameOfChain(draft.chain)],
  });
  const { prevHash, hash, ...body } = nextEntry(systemDigest, newest && parseActivityRow(newest), draft);
  return {
    chain: body.chain,
    sequence: body.sequence,
    occurred_at: timestamp(body.occurredAtMs),
    action: body.action,
    body: JSON.stringify(body),
    prev_hash: byteText(prevHash),
    hash: byteText(hash),
  };
}

function parseActivityRow(row: Row): ActivityEntry {
  const { body, prev_hash: prevHash, hash } = valuesOf(row);
  return parseActivity({ ...(body as Item), prevHash, hash });
}
