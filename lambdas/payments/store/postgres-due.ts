import { KeyAttribute } from '../../kernel/contract/tables.ts';
import type { Due } from '../../kernel/looks.ts';
import { readableRows, UNREADABLE_AGAIN_MS, type Unreadable } from '../../kernel/platform/queue-rows.ts';
import { type PostgresTools, readRows, writeRows } from '../../postgres/attempts.ts';
import type { Row, Statement } from '../../postgres/database.ts';
import { timestamp, valuesOf } from '../../postgres/values.ts';

export interface DueTools extends PostgresTools {
  readonly unreadable: Unreadable;
}

interface DueRead<Entry> {
  readonly select: Statement;
  readonly parse: (row: Row) => Entry;
  /** Has no effect if the row's due time has changed. */
  readonly postpone: (values: Row, dueAt: string) => Statement;
}

/** Rows that cannot be parsed are reported and postponed. */
export async function readDue<Entry>(
  tools: DueTools,
  { select, parse, postpone }: DueRead<Entry>,
): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (const row of await readRows(tools, select)) {
    const readable = readableRows([named(row)], parse, tools.unreadable);
    entries.push(...readable);
    const dueAt = timestamp(tools.pacing.clock.nowMs() + UNREADABLE_AGAIN_MS);
    if (readable.length === 0) await writeRows(tools, postpone(valuesOf(row), dueAt));
  }
  return entries;
}

/** Adds the key attributes, because the error for an unreadable row names the row by them. */
function named(row: Row): Row {
  return {
    ...row,
    [KeyAttribute.partition]: row['chain_id'] ?? row['operation_id'],
    [KeyAttribute.sort]: row['subject'],
  };
}

export const THIS_ENTRY = 'WHERE kind = $1 AND chain_id = $2 AND subject = $3';

/** @param queues one or two queues */
export function readDueWork<Entry>(
  tools: DueTools,
  queues: readonly string[],
  due: Due,
  parse: (row: Row) => Entry,
): Promise<readonly Entry[]> {
  const [queue, other = queue] = queues;
  return readDue(tools, {
    select: {
      name: 'work-due',
      text: `SELECT kind, chain_id, subject, concerns, due_at, since, reason, version, undecidable FROM work
        WHERE queue IN ($1, $2) AND due_at <= $3 ORDER BY due_at LIMIT $4`,
      values: [queue, other, timestamp(due.untilMs), due.limit],
    },
    parse,
    postpone: ({ kind, chain_id, subject, due_at }, dueAt) => ({
      name: 'work-postpone-unreadable',
      text: `UPDATE work SET due_at = $5 ${THIS_ENTRY} AND due_at = $4`,
      values: [kind, chain_id, subject, timestamp(Number(due_at)), dueAt],
    }),
  });
}
