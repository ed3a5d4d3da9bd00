import { parseHoldRow, workKeyOfHold } from '../../payments/store/postgres-rows.ts';
import type { Hold } from '../../payments/use/payment-store.ts';
import { type PostgresTools, readRows, writeRows } from '../../postgres/attempts.ts';
import { timestamp } from '../../postgres/values.ts';
import type { DuePage, DueQueue } from '../use/due-queue.ts';

/** Pattern of a cursor: `<Unix milliseconds>#<payment id>` of the previous row. */
const CURSOR = /^(?<since>\d+)#(?<payment>.*)$/;

/** Reads the queue of holds in the order of their authorization. */
export class PostgresHolds implements DueQueue<Hold> {
  readonly #tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.#tools = tools;
  }

  async dueBefore(
    beforeMs: number,
    { limit, cursor = '0#' }: Parameters<DueQueue<Hold>['dueBefore']>[1],
  ): Promise<DuePage<Hold>> {
    const { since = '0', payment = '' } = CURSOR.exec(cursor)?.groups ?? {};
    const found = await readRows(this.#tools, {
      name: 'hold-due',
      text: `SELECT chain_id, since, undecidable FROM work
        WHERE queue = 'hold' AND due_at < $1 AND (due_at, chain_id) > ($2, $3) ORDER BY due_at, chain_id LIMIT $4`,
      values: [timestamp(beforeMs), timestamp(Number(since)), payment, limit],
    });
    const rows = found.map(parseHoldRow).map((row) => ({ row, cursor: `${row.authorizedAtMs}#${row.paymentId}` }));
    const last = rows.at(-1);
    return last === undefined || rows.length < limit ? { rows } : { rows, next: last.cursor };
  }

  async mark(hold: Hold, undecidable: boolean): Promise<void> {
    const { chain_id, subject } = workKeyOfHold(hold);
    await writeRows(this.#tools, {
      name: 'hold-mark',
      text: `UPDATE work SET undecidable = $3 WHERE kind = 'hold' AND chain_id = $1 AND subject = $2`,
      values: [chain_id, subject, undecidable],
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
