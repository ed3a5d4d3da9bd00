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
   * The sequence of the last entry before the page, in the order of the page.
   * @default the page begins at the end of the chain
   */
  readonly from?: number;
  readonly order: 'newest_first' | 'oldest_first';
  readonly limit: number;
}

/** The append-only log of operators' actions. */
export interface ActivityLog {
  /** Reads a page of a chain with strong consistency. */
  listActivity(chain: ActivityChain, page: ActivityPage): Promise<readonly ActivityEntry[]>;
}

export type ListedActivity =
  | { readonly kind: 'unknown_cursor' }
  | { readonly kind: 'found'; readonly entries: readonly ActivityEntry[]; readonly hasMore: boolean };

/**
 * Returns a page of a chain, newest first.
 * @param after the id of the last entry of the previous page
 */
export async function pageOfActivity(
  log: ActivityLog,
  chain: ActivityChain,
  { after, limit }: { readonly after?: string; readonly limit: number },
): Promise<ListedActivity> {
  const from = after === undefined ? undefined : (await entryOf(log, chain, after))?.sequence;
  if (after !== undefined && from === undefined) return { kind: 'unknown_cursor' };
  const page = { order: 'newest_first' as const, limit: limit + 1, ...defined({ from }) };
  const entries = await log.listActivity(chain, page);
  return { kind: 'found', entries: entries.slice(0, limit), hasMore: entries.length > limit };
}

/**
 * Finds an entry.
 * @returns undefined when the chain has no entry with this id
 */
export async function entryOf(log: ActivityLog, chain: ActivityChain, id: string): Promise<ActivityEntry | undefined> {
  const sequence = sequenceOf(id);
  if (sequence === undefined) return undefined;
  const [entry] = await log.listActivity(chain, { order: 'newest_first', from: sequence + 1, limit: 1 });
  return entry !== undefined && activityId(entry) === id ? entry : undefined;
}

const VERIFIED_AT_ONCE = 100;

export interface VerifiedChain {
  /** The number of valid entries. */
  readonly entries: number;
  /** The sequence of the first entry that was changed, removed or inserted. Absent when all entries are valid. */
  readonly broken?: number;
}

/** Reads a whole chain and checks each link. The check cannot detect that the newest entries were removed. */
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
