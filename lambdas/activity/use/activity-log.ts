import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import {
  type ActivityChain,
  type ActivityEntry,
  activityId,
  firstBrokenEntry,
  sequenceOf,
} from '../domain/activity.ts';

export interface ActivityPage {
  /**
   * The sequence of the entry after which the page begins, in the given `order`.
   * @default the page begins with the newest or the oldest entry, depending on `order`
   */
  readonly from?: number;
  readonly order: 'newest_first' | 'oldest_first';
  readonly limit: number;
}

export interface ActivityLog {
  /** Reads are strongly consistent. */
  listActivity(chain: ActivityChain, page: ActivityPage): Promise<readonly ActivityEntry[]>;
}

export type ListedActivity =
  | { readonly kind: 'unknown_cursor' }
  | { readonly kind: 'found'; readonly entries: readonly ActivityEntry[]; readonly hasMore: boolean };

/**
 * The page is newest first.
 *
 * @param logs the logs that have entries of the chain. Entries of a single log are in the order of the chain; entries
 * of several logs are merged by time
 * @param after the id of the last entry of the previous page
 */
export async function pageOfActivity(
  logs: readonly ActivityLog[],
  chain: ActivityChain,
  { after, limit }: { readonly after?: string; readonly limit: number },
): Promise<ListedActivity> {
  const last = after === undefined ? undefined : await findEntry(logs, chain, after);
  if (after !== undefined && last === undefined) return { kind: 'unknown_cursor' };
  const entries = await newestEntries(logs, chain, { limit: limit + 1, ...defined({ last }) });
  return { kind: 'found', entries: entries.slice(0, limit), hasMore: entries.length > limit };
}

/** Sequences of different logs are not related. */
interface Placed {
  readonly entry: ActivityEntry;
  readonly log: number;
}

/**
 * The order is as in {@link pageOfActivity}.
 *
 * @param last the entry after which the list begins
 */
export async function newestEntries(
  logs: readonly ActivityLog[],
  chain: ActivityChain,
  { last, limit }: { readonly last?: Placed; readonly limit: number },
): Promise<readonly ActivityEntry[]> {
  const [only, ...others] = logs;
  if (only !== undefined && others.length === 0) {
    return only.listActivity(chain, { order: 'newest_first', limit, ...defined({ from: last?.entry.sequence }) });
  }
  const parts = await Promise.all(
    logs.map(async (log, position) => {
      const from = last && (await sequenceAt(log, position, chain, last)) + DISORDERED;
      const page = { order: 'newest_first', limit: limit + 2 * DISORDERED, ...defined({ from }) } as const;
      return (await log.listActivity(chain, page)).map((entry) => ({ entry, log: position }));
    }),
  );
  const behind = parts.flat().filter((placed) => last === undefined || byTime(last, placed) < 0);
  return behind
    .toSorted(byTime)
    .slice(0, limit)
    .map(({ entry }) => entry);
}

/** The order of timestamps may differ from the chain's order by so many positions, because writers' clocks differ. */
const DISORDERED = 20;

function byTime(left: Placed, right: Placed): number {
  return (
    right.entry.occurredAtMs - left.entry.occurredAtMs ||
    left.log - right.log ||
    right.entry.sequence - left.entry.sequence
  );
}

/**
 * Returns one more than the newest sequence if no entry is later than `last`. For the log that contains `last`, returns
 * the sequence of `last`.
 */
async function sequenceAt(log: ActivityLog, position: number, chain: ActivityChain, last: Placed): Promise<number> {
  if (position === last.log) return last.entry.sequence;
  const upTo = async (from?: number): Promise<ActivityEntry | undefined> =>
    (await log.listActivity(chain, { order: 'newest_first', limit: 1, ...defined({ from }) }))[0];
  let low = 1;
  let high = ((await upTo())?.sequence ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const entry = await upTo(middle + 1);
    if (entry !== undefined && entry.occurredAtMs > last.entry.occurredAtMs) high = middle;
    else low = middle + 1;
  }
  return low;
}

export async function entryOf(
  logs: readonly ActivityLog[],
  chain: ActivityChain,
  id: string,
): Promise<ActivityEntry | undefined> {
  return (await findEntry(logs, chain, id))?.entry;
}

async function findEntry(logs: readonly ActivityLog[], chain: ActivityChain, id: string): Promise<Placed | undefined> {
  const sequence = sequenceOf(id);
  if (sequence === undefined) return undefined;
  for (const [position, log] of logs.entries()) {
    const [entry] = await log.listActivity(chain, { order: 'newest_first', from: sequence + 1, limit: 1 });
    if (entry !== undefined && activityId(entry) === id) return { entry, log: position };
  }
  return undefined;
}

const VERIFIED_AT_ONCE = 100;

export interface VerifiedChain {
  /** The number of valid entries before the first invalid one, or of all entries. */
  readonly entries: number;
  /** The sequence of the first entry that was changed, removed or inserted. Absent when all entries are valid. */
  readonly broken?: number;
}

/** The check cannot detect that the newest entries were removed. */
export async function verifyActivity(
  { log, digest }: { readonly log: ActivityLog; readonly digest: Digest },
  chain: ActivityChain,
): Promise<VerifiedChain> {
  let before: ActivityEntry | undefined;
  for (;;) {
    const from = before?.sequence ?? 0;
    const entries = await log.listActivity(chain, { order: 'oldest_first', from, limit: VERIFIED_AT_ONCE });
    const broken = firstBrokenEntry(digest, entries, before);
    if (broken !== undefined) return { entries: broken - 1, broken };
    before = entries.at(-1) ?? before;
    if (entries.length < VERIFIED_AT_ONCE) return { entries: before?.sequence ?? 0 };
  }
}
