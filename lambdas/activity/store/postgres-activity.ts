import type { Item } from '../../kernel/platform/items.ts';
import { systemDigest } from '../../kernel/platform/platform.ts';
import { type PostgresTools, readRows } from '../../postgres/attempts.ts';
import type { Row } from '../../postgres/database.ts';
import { byteText, timestamp, valuesOf } from '../../postgres/values.ts';
import {
  type ActivityChain,
  type ActivityDraft,
  type ActivityEntry,
  nameOfChain,
  nextEntry,
} from '../domain/activity.ts';
import type { ActivityLog, ActivityPage } from '../use/activity-log.ts';
import { parseActivity } from './dynamodb-activity.ts';

/** The largest value of an `integer` column. */
const BEYOND_ALL = 2 ** 31 - 1;

/**
 * Reads the log of the actions whose effects are in PostgreSQL. Its chains have the same names as those in the Ledger,
 * but are separate chains.
 */
export class PostgresActivity implements ActivityLog {
  readonly #tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.#tools = tools;
  }

  async listActivity(chain: ActivityChain, { order, from, limit }: ActivityPage): Promise<readonly ActivityEntry[]> {
    const isAscending = order === 'oldest_first';
    const rows = await readRows(this.#tools, {
      name: `activity-${order}`,
      text: `SELECT body, prev_hash, hash FROM activity WHERE chain = $1 AND sequence ${isAscending ? '>' : '<'} $2
        ORDER BY sequence ${isAscending ? 'ASC' : 'DESC'} LIMIT $3`,
      values: [nameOfChain(chain), from ?? (isAscending ? 0 : BEYOND_ALL), limit],
    });
    return rows.map(parseActivityRow);
  }
}

/**
 * The statement that writes the action's effect must also write the row. If a rival's entry takes the sequence number
 * first, the statement violates `activity_pkey`, and must be repeated with a new row.
 */
export async function activityRowFor(tools: PostgresTools, draft: ActivityDraft): Promise<object> {
  const [newest] = await new PostgresActivity(tools).listActivity(draft.chain, { order: 'newest_first', limit: 1 });
  const { prevHash, hash, ...body } = nextEntry(systemDigest, newest, draft);
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
