import type { ExpiredRecord, ExpiredRecords } from '../../lambdas/reconciling/use/expired-records.ts';
import type { WalkPage, WalkStep } from '../../lambdas/views/use/view-store.ts';

/** A record as far as its ending matters. */
export interface EndingRecord {
  readonly status: 'INPROGRESS' | 'PENDING' | 'FAILED' | 'COMPLETED';
  readonly expiresAtSeconds?: number;
}

/** Rows that are looked at in one step. */
const WALK_PAGE = 2;

/** Records in memory that come to their end. Proven by the same suite as the real ones. */
export class MemoryExpiredRecords implements ExpiredRecords {
  readonly rows = new Map<string, EndingRecord>();

  async walk({ segment, segments, after = '' }: WalkStep, beforeSeconds: number): Promise<WalkPage<ExpiredRecord>> {
    const keys = [...this.rows.keys()].filter((key) => key.length % segments === segment && key > after).sort();
    const looked = keys.slice(0, WALK_PAGE);
    const found = looked.flatMap((key): readonly ExpiredRecord[] => {
      const { status, expiresAtSeconds } = this.rows.get(key) ?? {};
      const isOver = status === 'COMPLETED' && expiresAtSeconds !== undefined && expiresAtSeconds < beforeSeconds;
      return isOver ? [{ key, expiresAtSeconds }] : [];
    });
    const last = looked.at(-1);
    return last === undefined || keys.length === looked.length ? { found } : { found, next: last };
  }

  async remove({ key, expiresAtSeconds }: ExpiredRecord): Promise<boolean> {
    const row = this.rows.get(key);
    if (row?.status !== 'COMPLETED' || row.expiresAtSeconds !== expiresAtSeconds) return false;
    return this.rows.delete(key);
  }
}
