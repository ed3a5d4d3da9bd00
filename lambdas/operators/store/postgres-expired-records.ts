import { type PostgresTools, readRows, writeIf } from '../../postgres/attempts.ts';
import { timestamp, valuesOf } from '../../postgres/values.ts';
import type { ScanPage, ScanRequest } from '../../views/use/view-store.ts';
import type { ExpiredRecord, ExpiredRecords } from '../use/expired-records.ts';

/** Number of records per page. */
const PAGE = 500;

/** Pattern of a position: `<Unix milliseconds> <operation id>` of the previous record. */
const POSITION = /^(?<expires>\d+) (?<id>.+)$/;

/** Finds expired records with an index, which needs no segments: the first segment returns all records. */
export class PostgresExpiredRecords implements ExpiredRecords {
  readonly #tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.#tools = tools;
  }

  async scan({ segment, after = '0 ' }: ScanRequest, beforeSeconds: number): Promise<ScanPage<ExpiredRecord>> {
    if (segment > 0) return { found: [] };
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
    if (last === undefined || found.length < PAGE) return { found };
    return { found, next: `${last.expiresAtSeconds * 1000} ${last.key}` };
  }

  async remove({ key, expiresAtSeconds }: ExpiredRecord): Promise<boolean> {
    const written = await writeIf(this.#tools, {
      name: 'record-remove',
      text: `DELETE FROM idempotency WHERE operation_id = $1 AND expires_at = $2 AND status = 'COMPLETED'
        RETURNING operation_id`,
      values: [key, timestamp(expiresAtSeconds * 1000)],
    });
    return written.kind === 'applied';
  }
}
