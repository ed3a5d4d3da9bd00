import type { ExpiredRecord, ExpiredRecords } from '../../lambdas/reconciling/use/expired-records.ts';
import type { WalkPage, WalkStep } from '../../lambdas/views/use/view-store.ts';

/** The fields of a record that its expiry depends on. */
export interface EndingRecord {
  readonly status: 'INPROGRESS' | 'pending' | 'failed' | 'COMPLETED';
  readonly expiresAtSeconds?: number;
}

/** Rows per step. */
const WALK_PAGE = 2;

/** In-memory expired records. The same contract suite tests them and the real ones. */
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
