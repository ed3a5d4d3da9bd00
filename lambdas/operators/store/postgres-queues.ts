import { IdempotencyRow } from '../../kernel/contract/rows.ts';
import { parseRecordRow, RECORD_COLUMNS } from '../../once/store/postgres-record-rows.ts';
import {
  parseHoldRow,
  parseInquiryRow,
  parseOrderRow,
  parseOrphanRow,
  parseReturnRow,
  type WorkKey,
} from '../../payments/store/postgres-rows.ts';
import { type PostgresTools, readRows } from '../../postgres/attempts.ts';
import type { Row } from '../../postgres/database.ts';
import { timestamp, valuesOf } from '../../postgres/values.ts';
import {
  CLAIM_SORT_KEY_PATTERN,
  type OperatorQueue,
  type QueueLists,
  type QueueName,
  type QueuePosition,
  type QueueSummary,
} from '../use/queue-lists.ts';
import { ENTRY_OF, readableEntry } from './queue-entries.ts';

interface Rows {
  /** The query has the column `since`. @param now the parameter for the current time */
  readonly select: (now: string) => string;
  /** The columns that identify a row and sort the queue. Their values do not change while the queue is listed. */
  readonly sort: readonly [first: string, second: string];
  readonly entryOf: (row: Row) => ReturnType<(typeof ENTRY_OF)[QueueName]>;
}

const BY_CHAIN = ['chain_id', 'subject'] as const;
const work = (kind: WorkKey['kind']): Pick<Rows, 'select' | 'sort'> => ({
  select: () =>
    `SELECT chain_id, subject, concerns, since, reason, version, undecidable FROM work WHERE kind = '${kind}'`,
  sort: BY_CHAIN,
});
const orphans = (dueAt: string): Pick<Rows, 'select' | 'sort'> => ({
  select: () => `SELECT operation_id, received_at, received_at AS since, reason, is_foreign, event FROM orphan
    WHERE due_at IS ${dueAt}`,
  sort: ['received_at', 'operation_id'],
});

const ROWS: Readonly<Record<QueueName, Rows>> = {
  claims: {
    select: (now) => `SELECT ${RECORD_COLUMNS}, claimed_at AS since FROM idempotency
      WHERE due_at IS NOT NULL AND lease_expires_at <= ${now}`,
    sort: ['due_at', 'operation_id'],
    entryOf: (row) => ENTRY_OF.claims(parseRecordRow(row)),
  },
  inquiries: { ...work('inquiry'), entryOf: (row) => ENTRY_OF.inquiries(parseInquiryRow(row)) },
  returns: { ...work('return'), entryOf: (row) => ENTRY_OF.returns(parseReturnRow(row)) },
  orders: { ...work('order'), entryOf: (row) => ENTRY_OF.orders(parseOrderRow(row)) },
  holds: { ...work('hold'), entryOf: (row) => ENTRY_OF.holds(parseHoldRow(row)) },
  orphans: { ...orphans('NOT NULL'), entryOf: (row) => ENTRY_OF.orphans(parseOrphanRow(row)) },
  unmatched_callbacks: {
    ...orphans('NULL'),
    entryOf: (row) => ENTRY_OF.unmatched_callbacks(parseOrphanRow(row)),
  },
};

/** Appended to the query of the queue. */
const NEEDS_OPERATOR: Readonly<Record<OperatorQueue, string>> = {
  claims: ' AND undecidable',
  inquiries: " AND queue = 'undecidable'",
  returns: ' AND undecidable',
  holds: ' AND undecidable',
  unmatched_callbacks: ' AND NOT coalesce(is_foreign, false)',
};

/** PostgreSQL reads each counted row. */
const MAX_COUNTED = 1_000;

/** The PostgreSQL queues have no shards. */
const SHARD = 0;

export class PostgresQueues implements QueueLists {
  readonly #tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.#tools = tools;
  }

  async summary(queue: QueueName): Promise<QueueSummary> {
    const { select, sort } = ROWS[queue];
    const [row] = await readRows(this.#tools, {
      name: `queue-summary-${queue}`,
      text: `SELECT count(*) AS found, min(since) AS oldest
        FROM (${select('$2')} ORDER BY ${sort.join(', ')} LIMIT $1) AS entries`,
      values: [MAX_COUNTED + 1, ...this.#now(queue)],
    });
    const { found, oldest: oldestMs } = valuesOf(row ?? {});
    const oldest = oldestMs === undefined ? {} : { oldestMs: Number(oldestMs) };
    return { waiting: Math.min(Number(found), MAX_COUNTED), hasMore: Number(found) > MAX_COUNTED, ...oldest };
  }

  async needingOperator(queue: OperatorQueue) {
    const { select, sort, entryOf } = ROWS[queue];
    const rows = await readRows(this.#tools, {
      name: `queue-operator-${queue}`,
      text: `${select('$2')}${NEEDS_OPERATOR[queue]} ORDER BY ${sort.join(', ')} LIMIT $1`,
      values: [MAX_COUNTED + 1, ...this.#now(queue)],
    });
    const entries = rows.slice(0, MAX_COUNTED).map((row) => readableEntry(() => entryOf(row)));
    return { entries, hasMore: rows.length > MAX_COUNTED };
  }

  async page(queue: QueueName, { after, limit }: { readonly after?: QueuePosition; readonly limit: number }) {
    const { select, sort, entryOf } = ROWS[queue];
    const [first, second] = sort;
    const position = after === undefined ? undefined : positionOf(queue, after);
    if (after !== undefined && position === undefined) return [];
    const behind = position === undefined ? '' : ` AND (${first}, ${second}) > ($2, $3)`;
    const rows = await readRows(this.#tools, {
      name: `queue-page-${queue}${position === undefined ? '' : '-after'}`,
      text: `${select(position === undefined ? '$2' : '$4')}${behind} ORDER BY ${first}, ${second} LIMIT $1`,
      values: [limit, ...(position ?? []), ...this.#now(queue)],
    });
    return rows.map((row) => ({
      place: { shard: SHARD, sort: sortOf(queue, valuesOf(row)) },
      entry: readableEntry(() => entryOf(row)),
    }));
  }

  #now(queue: QueueName): readonly string[] {
    return queue === 'claims' ? [timestamp(this.#tools.pacing.clock.nowMs())] : [];
  }
}

function sortOf(queue: QueueName, values: Row): string {
  const [first, second] = ROWS[queue].sort;
  const prefix = queue === 'claims' ? IdempotencyRow.record : '';
  return `${String(values[first])} ${prefix}${String(values[second])}`;
}

/** Undefined if the text is not a position in this queue. */
function positionOf(queue: QueueName, { sort }: QueuePosition): readonly [string, string] | undefined {
  if (ROWS[queue].sort === BY_CHAIN) {
    const [, chain = '', subject = ''] = /^(\S+) (.*)$/.exec(sort) ?? [];
    return chain === '' ? undefined : [chain, subject];
  }
  const [, ms, id] = (queue === 'claims' ? CLAIM_SORT_KEY_PATTERN : /^(\d{1,15}) (.+)$/).exec(sort) ?? [];
  if (id === undefined) return undefined;
  return [timestamp(Number(ms)), queue === 'claims' ? id.slice(IdempotencyRow.record.length) : id];
}
