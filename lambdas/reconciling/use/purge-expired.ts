import type { Job, JobCounts } from '../../jobs/use/job.ts';
import type { Clock } from '../../kernel/world.ts';
import { DAY_MS } from '../../views/domain/views.ts';
import type { WalkPosition } from '../../views/use/view-store.ts';
import type { ExpiredRecord, ExpiredRecords, TimeToLive } from './expired-records.ts';

export interface PurgeTools {
  readonly records: ExpiredRecords;
  readonly timeToLive: TimeToLive;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly observer: PurgeObserver;
}

interface PurgeObserver {
  /** Of one record. */
  failed(error: unknown): void;
  /** In the end. @param expiredLeft records that time to live had left @param notWorking tables in which it does not work */
  purged(expiredLeft: number, notWorking: readonly string[]): void;
}

/**
 * Time to live "typically deletes expired items within a few days" (AWS re:Post knowledge center, "Why aren't the items with
 * expired Time to Live deleted from my Amazon DynamoDB table?"). What is there after four has been left.
 */
const GRACE_MS = 4 * DAY_MS;
/** A backlog of some hundred is a day's work of a background process; of more, it has stopped. */
const MANY_LEFT = 1_000;
/** Each night begins with another one: where a night does not suffice for all of the table, the next ones come to the rest. */
const SEGMENTS = 16;
/** Rows are looked at by the hundred, most of which have not expired: so many steps fit into a few seconds. */
const STEPS_AT_ONCE = 20;
/** Deletes at once, of a page's. */
const HANDS = 8;

export type ToPurge =
  | { readonly kind: 'records'; readonly records: readonly ExpiredRecord[] }
  | { readonly kind: 'check'; readonly expiredLeft: number };

interface Place {
  /** How many segments are done. */
  readonly done: number;
  readonly after?: WalkPosition;
  /** How many records were found up to here. */
  readonly found: number;
}

/**
 * Deletes the completed idempotency records that time to live has left, and tells whether it works. It goes through the
 * whole table, a thing that nothing else does: there is no index by expiry, which every payment would have to pay for so that
 * a night's run, of which nothing depends, is cheaper. An expired record is refused by its readers while it is there, and what
 * it stood for is refused without it: deleting it changes nothing but the bill.
 */
export function purgeExpired(tools: PurgeTools): Job<ToPurge> {
  return {
    page: async (cursor, _limit, { scheduledForMs }) => {
      let at: Place = cursor === undefined ? { done: 0, found: 0 } : (JSON.parse(cursor) as Place);
      for (let step = 0; step < STEPS_AT_ONCE && at.done < SEGMENTS; step += 1) {
        const segment = (Math.floor(scheduledForMs / DAY_MS) + at.done) % SEGMENTS;
        const { after } = at;
        const { found, next } = await tools.records.walk(
          { segment, segments: SEGMENTS, ...(after === undefined ? {} : { after }) },
          (scheduledForMs - GRACE_MS) / 1000,
        );
        at = {
          ...(next === undefined ? { done: at.done + 1 } : { done: at.done, after: next }),
          found: at.found + found.length,
        };
        if (found.length === 0) continue;
        const name = `${found.length} of segment ${segment}`;
        const behind = JSON.stringify(at);
        return { items: [{ thing: { kind: 'records', records: found }, name, after: behind }], next: behind };
      }
      if (at.done < SEGMENTS) return { items: [], next: JSON.stringify(at) };
      const thing = { kind: 'check' as const, expiredLeft: at.found };
      return { items: [{ thing, name: 'check', after: JSON.stringify(at) }] };
    },
    handle: async (thing, { deadlineMs }) =>
      thing.kind === 'records' ? removeAll(tools, thing.records, deadlineMs) : tell(tools, thing.expiredLeft),
  };
}

/** Some at a time; what fails is there for the next night. */
async function removeAll(
  { records, clock, observer }: PurgeTools,
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
  await Promise.all(Array.from({ length: HANDS }, hand));
  return counts;
}

async function tell({ timeToLive, observer }: PurgeTools, expiredLeft: number): Promise<JobCounts> {
  const states = await timeToLive.states();
  const off = states.filter(({ isOn }) => !isOn).map(({ table }) => table);
  const isSlow = off.length === 0 && expiredLeft > MANY_LEFT;
  observer.purged(expiredLeft, isSlow ? ['idempotency'] : off);
  return { done: 0, left: 0, failed: 0 };
}
