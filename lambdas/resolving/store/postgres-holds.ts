import { dueSort } from '../../kernel/due-sort.ts';
import { POSTPONED_HOLD, parseHoldRow, workKeyOfHold } from '../../payments/store/postgres-rows.ts';
import type { Hold } from '../../payments/use/payment-store.ts';
import type { Postponement } from '../../payments/use/unfinished-work.ts';
import { type PostgresTools, readRows, writeRows } from '../../postgres/attempts.ts';
import { timestamp } from '../../postgres/values.ts';
import { type DuePage, type DueQueue, type DueRange, listBoth } from '../use/due-queue.ts';

/** Pattern of a cursor: `<Unix milliseconds>#<payment id>` of the previous row. */
const CURSOR = /^(?<due>\d+)#(?<payment>.*)$/;

export class PostgresHolds implements DueQueue<Hold> {
  readonly #tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.#tools = tools;
  }

  async dueBefore(beforeMs: number, range: DueRange): Promise<DuePage<Hold>> {
    return listBoth(range, async (isPostponed, { after, limit }) => {
      const { due = '0', payment = '' } = CURSOR.exec(after)?.groups ?? {};
      const queue = isPostponed ? POSTPONED_HOLD : 'hold';
      const endMs = isPostponed ? (range.postponedBeforeMs ?? 0) : beforeMs;
      const found = await readRows(this.#tools, {
        name: 'hold-due',
        text: `SELECT chain_id, queue, due_at, since, undecidable FROM work
          WHERE queue = $1 AND due_at < $2 AND (due_at, chain_id) > ($3, $4) ORDER BY due_at, chain_id LIMIT $5`,
        values: [queue, timestamp(endMs), timestamp(Number(due)), payment, limit],
      });
      const rows = found.map(parseHoldRow).map((row) => ({
        row,
        cursor: dueSort(row.dueAtMs ?? row.authorizedAtMs, row.paymentId),
      }));
      const last = rows.at(-1);
      return last === undefined || rows.length < limit ? { rows } : { rows, next: last.cursor };
    });
  }

  async postpone(hold: Hold, { dueAtMs, undecidable }: Postponement): Promise<void> {
    const { chain_id, subject } = workKeyOfHold(hold);
    await writeRows(this.#tools, {
      name: 'hold-postpone',
      text: `UPDATE work SET queue = $3, due_at = $4, undecidable = $5
        WHERE kind = 'hold' AND chain_id = $1 AND subject = $2`,
      values: [chain_id, subject, POSTPONED_HOLD, timestamp(dueAtMs), undecidable],
    });
  }

  async close(hold: Hold): Promise<void> {
    const { chain_id, subject } = workKeyOfHold(hold);
    await writeRows(this.#tools, {
      name: 'hold-close',
      text: `DELETE FROM work WHERE kind = 'hold' AND chain_id = $1 AND subject = $2`,
      values: [chain_id, subject],
    });
  }
}
