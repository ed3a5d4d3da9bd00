import { FOREIGN_KEPT_DAYS } from '../../payments/use/effect-store.ts';
import { type PostgresTools, readRows, writeIf } from '../../postgres/attempts.ts';
import { timestamp, valuesOf } from '../../postgres/values.ts';
import type { ScanPage, ScanRequest } from '../../views/use/view-store.ts';
import type { ExpiredRecord, ExpiredRecords } from '../use/expired-records.ts';

const PAGE = 500;

/** The expiry, in Unix milliseconds, and the operation id of the last record on the previous page. */
const POSITION = /^(?<expires>\d+) (?<id>.+)$/;

/** Prefix of the keys of callbacks and of their positions. The positions of callbacks follow those of all records. */
const CALLBACKS = 'callback ';
const CALLBACK_POSITION = /^callback (?<received>\d+)(?: (?<id>.*))?$/;
const KEPT_MS = FOREIGN_KEPT_DAYS * 86_400_000;

/**
 * Finds expired records through an index, so the scan is not divided: the first segment returns all expired records,
 * and then the callbacks of other programs. The other segments return nothing.
 */
export class PostgresExpiredRecords implements ExpiredRecords {
  readonly #tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.#tools = tools;
  }

  async scan({ segment, after = '0 ' }: ScanRequest, beforeSeconds: number): Promise<ScanPage<ExpiredRecord>> {
    if (segment > 0) return { found: [] };
    const behind = CALLBACK_POSITION.exec(after)?.groups;
    if (behind !== undefined) return this.#callbacks(behind, beforeSeconds);
    const { expires = '0', id = '' } = POSITION.exec(after)?.groups ?? {};
    const rows = await readRows(this.#tools, {
      name: 'record-expired',
      text: `SELECT operation_id, expires_at FROM idempotency
        WHERE expires_at < $1 AND status = 'COMPLETED' AND (expires_at, operation_id) > ($2, $3)
        ORDER BY expires_at, operation_id LIMIT $4`,
      values: [timestamp(beforeSeconds * 1000), timestamp(Number(expires)), id, PAGE],
    });
    const found = rows.map(valuesOf).map(({ operation_id, expires_at }) => ({
      key: String(operation_id),
      expiresAtSeconds: Number(expires_at) / 1000,
    }));
    const last = found.at(-1);
    if (last === undefined || found.length < PAGE) return { found, next: `${CALLBACKS}0` };
    return { found, next: `${last.expiresAtSeconds * 1000} ${last.key}` };
  }

  async #callbacks({ received = '0', id = '' }: Readonly<Record<string, string>>, beforeSeconds: number) {
    const rows = await readRows(this.#tools, {
      name: 'orphan-expired',
      text: `SELECT operation_id, received_at FROM orphan
        WHERE due_at IS NULL AND is_foreign AND received_at < $1 AND (received_at, operation_id) > ($2, $3)
        ORDER BY received_at, operation_id LIMIT $4`,
      values: [timestamp(beforeSeconds * 1000 - KEPT_MS), timestamp(Number(received)), id, PAGE],
    });
    const found = rows.map(valuesOf).map(({ operation_id, received_at }) => ({
      key: `${CALLBACKS}${String(operation_id)}`,
      expiresAtSeconds: (Number(received_at) + KEPT_MS) / 1000,
    }));
    const last = valuesOf(rows.at(-1) ?? {});
    if (found.length < PAGE) return { found };
    return { found, next: `${CALLBACKS}${Number(last['received_at'])} ${String(last['operation_id'])}` };
  }

  async remove({ key, expiresAtSeconds }: ExpiredRecord): Promise<boolean> {
    if (key.startsWith(CALLBACKS)) return this.#removeCallback(key.slice(CALLBACKS.length));
    const written = await writeIf(this.#tools, {
      name: 'record-remove',
      text: `DELETE FROM idempotency WHERE operation_id = $1 AND expires_at = $2 AND status = 'COMPLETED'
        RETURNING operation_id`,
      values: [key, timestamp(expiresAtSeconds * 1000)],
    });
    return written.kind === 'applied';
  }

  async #removeCallback(id: string): Promise<boolean> {
    const written = await writeIf(this.#tools, {
      name: 'orphan-expire',
      text: `DELETE FROM orphan WHERE operation_id = $1 AND due_at IS NULL AND is_foreign RETURNING operation_id`,
      values: [id],
    });
    return written.kind === 'applied';
  }
}
