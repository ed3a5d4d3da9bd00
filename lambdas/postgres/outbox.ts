import { shardOf } from '../kernel/platform/items.ts';
import { type PostgresTools, readRows, writeRows } from './attempts.ts';
import { timestamp } from './values.ts';

/** Number of shards of the outbox. The job `carry` reads each shard with one worker. */
export const OUTBOX_SHARDS = 32;

export interface OutboxRow {
  readonly kind: 'transition' | 'erasure';
  /** Position of the transition in its chain, or of the erasure's entry in the activity log. */
  readonly sequence: number;
}

/** A payment or an order with waiting rows. */
export interface WaitingChain {
  readonly chainId: string;
  /** Creation time of the chain's oldest row, in Unix milliseconds. */
  readonly sinceMs: number;
}

export interface OutboxState {
  /** Creation time of the oldest row whose chain is not stopped, in Unix milliseconds; undefined when there is none. */
  readonly oldestMs: number | undefined;
  readonly stopped: number;
}

/** Reads and deletes the rows that wait to be copied to the DynamoDB tables. */
export class Outbox {
  readonly #tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.#tools = tools;
  }

  async waitingChains(
    shard: number,
    { after, limit }: { readonly after?: WaitingChain | undefined; readonly limit: number },
  ): Promise<readonly WaitingChain[]> {
    const rows = await readRows(this.#tools, {
      name: 'outbox-chains',
      text: `SELECT chain_id, min(created_at) AS since FROM outbox WHERE shard = $1 GROUP BY chain_id
        HAVING (min(created_at), chain_id) > ($2::timestamptz, $3::text)
        ORDER BY since, chain_id LIMIT $4`,
      values: [shard, timestamp(after?.sinceMs ?? 0), after?.chainId ?? '', limit],
    });
    return rows.map(({ chain_id, since }) => ({ chainId: String(chain_id), sinceMs: (since as Date).getTime() }));
  }

  async remove(chainId: string, rows: readonly OutboxRow[]): Promise<void> {
    if (rows.length === 0) return;
    await writeRows(this.#tools, {
      name: 'outbox-remove',
      text: `DELETE FROM outbox USING json_to_recordset($2::json) AS copied (kind text, sequence integer)
        WHERE outbox.chain_id = $1 AND outbox.kind = copied.kind AND outbox.sequence = copied.sequence`,
      values: [chainId, JSON.stringify(rows.map(({ kind, sequence }) => ({ kind, sequence })))],
    });
  }

  /**
   * Each outbox row gets the creation time of its transition. Until the row is copied, the copies therefore count as
   * complete only up to this time.
   */
  async announceAgain(chainId: string, sequences: readonly number[]): Promise<void> {
    if (sequences.length === 0) return;
    await writeRows(this.#tools, {
      name: 'outbox-announce-again',
      text: `INSERT INTO outbox (chain_id, kind, sequence, shard, created_at)
        SELECT chain_id, 'transition', sequence, $3::integer, occurred_at FROM transition
        WHERE chain_id = $1 AND sequence IN (SELECT value::integer FROM json_array_elements_text($2::json))
        ON CONFLICT (chain_id, kind, sequence) DO NOTHING`,
      values: [chainId, JSON.stringify(sequences), shardOf(chainId, OUTBOX_SHARDS)],
    });
  }

  async resume(chainId: string): Promise<void> {
    await writeRows(this.#tools, {
      name: 'outbox-resume',
      text: 'UPDATE outbox SET stopped_at = NULL WHERE chain_id = $1 AND stopped_at IS NOT NULL',
      values: [chainId],
    });
  }

  async hasErasure(chainId: string): Promise<boolean> {
    const rows = await readRows(this.#tools, {
      name: 'outbox-erasure',
      text: `SELECT 1 AS found FROM outbox WHERE chain_id = $1 AND kind = 'erasure' LIMIT 1`,
      values: [chainId],
    });
    return rows.length > 0;
  }

  async stop(chainId: string, sequence: number): Promise<void> {
    await writeRows(this.#tools, {
      name: 'outbox-stop',
      text: `UPDATE outbox SET stopped_at = $3 WHERE chain_id = $1 AND kind = 'transition' AND sequence = $2`,
      values: [chainId, sequence, timestamp(this.#tools.pacing.clock.nowMs())],
    });
  }

  async state(): Promise<OutboxState> {
    const [row] = await readRows(this.#tools, {
      name: 'outbox-state',
      text: `SELECT min(CASE WHEN stopped = 0 THEN oldest END) AS oldest, count(CASE WHEN stopped > 0 THEN 1 END) AS stopped
        FROM (SELECT min(created_at) AS oldest, count(stopped_at) AS stopped FROM outbox GROUP BY chain_id) AS chains`,
      values: [],
    });
    const oldest = row?.['oldest'];
    return { oldestMs: oldest instanceof Date ? oldest.getTime() : undefined, stopped: Number(row?.['stopped']) };
  }
}
