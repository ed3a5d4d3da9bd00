import type { Job, JobCounts } from '../../jobs/use/job.ts';
import { defined } from '../../kernel/defined.ts';
import type { Clock } from '../../kernel/world.ts';
import { DAY_MS } from '../../views/domain/views.ts';
import type { ScanPosition } from '../../views/use/view-store.ts';
import type { ExpiredRecord, ExpiredRecords, TimeToLive } from './expired-records.ts';

export interface PurgeTools {
  readonly records: ExpiredRecords;
  /**
   * Records without DynamoDB time to live, which only this job deletes.
   * @default none
   */
  readonly withoutTimeToLive?: ExpiredRecords;
  readonly timeToLive: TimeToLive;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly observer: PurgeObserver;
}

interface PurgeObserver {
  failed(error: unknown): void;
  /**
   * @param expiredLeft number of expired records that DynamoDB time to live had not deleted
   * @param notWorking names of the tables in which time to live does not work
   */
  purged(expiredLeft: number, notWorking: readonly string[]): void;
}

/**
 * Minimum time between a record's expiry and its deletion by this job, in milliseconds. DynamoDB's time to live (TTL)
 * "typically deletes expired items within a few days" (AWS re:Post knowledge center, "Why aren't the items with expired
 * Time to Live deleted from my Amazon DynamoDB table?").
 */
const GRACE_MS = 4 * DAY_MS;
/**
 * Backlog of expired records above which the job reports that time to live is not working. Time to live can lag by
 * hundreds of records even when it works.
 */
const TTL_BACKLOG_LIMIT = 1_000;
/**
 * Each night starts with a different segment, so that a table too large for one night is completely scanned over
 * several nights.
 */
const SEGMENTS = 16;
/** A page also ends with the first step that finds expired records. */
const STEPS_AT_ONCE = 20;
const CONCURRENT_DELETES = 8;

export type ToPurge =
  | { readonly kind: 'records' | 'without_time_to_live'; readonly records: readonly ExpiredRecord[] }
  | { readonly kind: 'check'; readonly expiredLeft: number };

interface Place {
  /** Number of completed scans of segments. */
  readonly done: number;
  readonly after?: ScanPosition;
  /** Number of records found so far that time to live should have deleted. */
  readonly found: number;
}

/**
 * The job scans the whole table. An index by expiry would make this nightly job cheaper, but would add a write to every
 * payment. Readers already treat an expired record as expired, so the deletion only saves storage.
 */
export function purgeExpiredJob(tools: PurgeTools): Job<ToPurge> {
  return {
    page: async (cursor, _limit, { scheduledForMs }) => {
      let at: Place = cursor === undefined ? { done: 0, found: 0 } : (JSON.parse(cursor) as Place);
      const scans = scansOf(tools, Math.floor(scheduledForMs / DAY_MS));
      for (let step = 0; step < STEPS_AT_ONCE; step += 1) {
        const scan = scans[at.done];
        if (scan === undefined) break;
        const { kind, records, segment, segments } = scan;
        const { after } = at;
        const before = (scheduledForMs - GRACE_MS) / 1000;
        const { found, next } = await records.scan({ segment, segments, ...defined({ after }) }, before);
        at = {
          ...(next === undefined ? { done: at.done + 1 } : { done: at.done, after: next }),
          found: at.found + (kind === 'records' ? found.length : 0),
        };
        if (found.length === 0) continue;
        const name = `${found.length} ${kind} of segment ${segment}`;
        const behind = JSON.stringify(at);
        return { items: [{ thing: { kind, records: found }, name, after: behind }], next: behind };
      }
      if (at.done < scans.length) return { items: [], next: JSON.stringify(at) };
      const thing = { kind: 'check' as const, expiredLeft: at.found };
      return { items: [{ thing, name: 'check', after: JSON.stringify(at) }] };
    },
    handle: async (thing, { deadlineMs }) => {
      if (thing.kind === 'check') return reportExpired(tools, thing.expiredLeft);
      const { records, withoutTimeToLive = records } = tools;
      return removeAll(tools, thing.kind === 'records' ? records : withoutTimeToLive, thing.records, deadlineMs);
    },
  };
}

function scansOf({ records, withoutTimeToLive }: PurgeTools, night: number) {
  const segments = Array.from({ length: SEGMENTS }, (_, done) => ({
    kind: 'records' as const,
    records,
    segment: (night + done) % SEGMENTS,
    segments: SEGMENTS,
  }));
  if (withoutTimeToLive === undefined) return segments;
  const other = { kind: 'without_time_to_live' as const, records: withoutTimeToLive, segment: 0, segments: 1 };
  return [...segments, other];
}

/** Failed deletions are left for the next night. */
async function removeAll(
  { clock, observer }: PurgeTools,
  records: ExpiredRecords,
  found: readonly ExpiredRecord[],
  deadlineMs: number,
): Promise<JobCounts> {
  const counts = { done: 0, left: 0, failed: 0 };
  const waiting = [...found];
  const hand = async (): Promise<void> => {
    for (let record = waiting.shift(); record !== undefined; record = waiting.shift()) {
      if (clock.nowMs() >= deadlineMs) {
        counts.left += 1;
        continue;
      }
      try {
        if (await records.remove(record)) counts.done += 1;
      } catch (error) {
        counts.failed += 1;
        observer.failed(error);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_DELETES }, hand));
  return counts;
}

async function reportExpired({ timeToLive, observer }: PurgeTools, expiredLeft: number): Promise<JobCounts> {
  const states = await timeToLive.states();
  const off = states.filter(({ isOn }) => !isOn).map(({ table }) => table);
  const isSlow = off.length === 0 && expiredLeft > TTL_BACKLOG_LIMIT;
  observer.purged(expiredLeft, isSlow ? ['idempotency'] : off);
  return { done: 0, left: 0, failed: 0 };
}
