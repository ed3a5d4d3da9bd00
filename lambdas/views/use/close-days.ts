import type { OwnerToken } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { timeSortKey } from '../../kernel/places.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { ACCOUNTS, type Account } from '../../payments/domain/posting.ts';
import { addedSums, NO_SUMS, type Sums, sumKey, sumsOf } from '../../payments/domain/sums.ts';
import {
  entryList,
  eventList,
  FIRST_SORT_KEY,
  LAST_SORT_KEY,
  timeOf,
  totalKey,
  totalsPartition,
  type ViewList,
  type ViewOwner,
} from '../domain/lists.ts';
import { bookEntryOf, DAY_MS, dayOf, type EventBody, type ViewRow } from '../domain/views.ts';
import { addedVolumes, NO_VOLUMES, type Volume, type Volumes, volumeOf, volumesOf } from '../domain/volumes.ts';
import { mergedRows } from './merged-rows.ts';
import type { ViewStore } from './view-store.ts';

export interface CloseDaysTools {
  readonly views: ViewStore;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly entropy: Pick<Entropy, 'ownerToken'>;
}

/**
 * Time between the end of a day and its closing, in milliseconds. Most of the day's events have been projected by then;
 * a later event reopens the day. The projector does not look for a total before the day ends, so the clocks of
 * projectors and closers must not differ by more than this time.
 */
const SETTLED_AFTER_MS = 60 * 60 * 1000;
/** Number of rows per query. A set of postings takes a few hundred bytes, so a page stays below 1 MB. */
const PAGE = 1_000;
/** Maximum number of pages per partition and range (4,000 × 1,000 = 4 million rows). */
const MAX_PAGES = 4_000;
/** Maximum number of daily totals per owner, which is a tenant in a mode (about forty years). */
const MAX_DAYS = 15_000;

/**
 * Age, in milliseconds, after which a closer ignores another closer's mark on a day, because that closer has probably
 * crashed. Exceeds the time to sum the largest day.
 */
const MARK_MS = 5 * 60 * 1000;

/**
 * With a mark, the process that closes the day can find out whether the day has changed, and rivals see that the day is
 * being closed. Rivals do not replace each other's marks; otherwise, none of them would finish. Balances ignore marks.
 */
type TotalBody =
  | { readonly kind: 'mark'; readonly token: OwnerToken; readonly atMs: number }
  | {
      readonly kind: 'total';
      readonly token: OwnerToken;
      readonly sums: readonly StoredSum[];
      /** Absent if an earlier version of the code closed the day, or projected one of its events. */
      readonly volumes?: readonly StoredVolume[];
    };

interface StoredSum {
  readonly account: Account;
  readonly currency: string;
  /** In minor units, as decimal digits, because JSON numbers are exact only to 2^53. */
  readonly debit: string;
  readonly credit: string;
}

type StoredVolume = Omit<Volume, 'amount'> & {
  /** Decimal digits, as in {@link StoredSum}. */
  readonly amount: string;
};

export interface ClosedDays {
  readonly closed: number;
  /**
   * Whether days remain to be closed: days beyond `atMost`, days that changed while they were being closed, or days
   * that a rival is closing.
   */
  readonly more: boolean;
}

/**
 * Closes completed days, oldest first, by storing each day's sums in one row. Balance reads use this row instead of the
 * day's entries. Several closers can run concurrently.
 */
export async function closeDays(tools: CloseDaysTools, owner: ViewOwner, atMost: number): Promise<ClosedDays> {
  const { views, clock } = tools;
  const firstDay = await firstDayOf(views, owner);
  if (firstDay === undefined) return { closed: 0, more: false };
  const totals = new Map((await totalRows(views, owner)).map((row) => [row.sort, row]));
  let closed = 0;
  let tried = 0;
  let others = 0;
  for (let day = firstDay; day + DAY_MS + SETTLED_AFTER_MS <= clock.nowMs(); day += DAY_MS) {
    const found = totals.get(timeSortKey(day));
    if (found !== undefined && closedSums(found) !== undefined) continue;
    if (found !== undefined && isMarked(found, clock.nowMs())) {
      others += 1;
      continue;
    }
    if (tried === atMost) return { closed, more: true };
    tried += 1;
    if (await closeDay(tools, owner, day, found)) closed += 1;
  }
  return { closed, more: closed < tried || others > 0 };
}

/** @returns Unix milliseconds; undefined without events */
async function firstDayOf(views: ViewStore, owner: ViewOwner): Promise<number | undefined> {
  const range = { from: FIRST_SORT_KEY, until: LAST_SORT_KEY, limit: 1 };
  // The first list contains the public events; the second one contains the postings of all events.
  const lists = [eventList(owner, undefined), entryList(owner, 'all')];
  const first = await Promise.all(lists.map((list) => mergedRows(views, { ...list, ...range })));
  const times = first.flat().map(({ sort }) => timeOf(sort));
  return times.length === 0 ? undefined : dayOf(Math.min(...times));
}

/**
 * A projector that adds an entry to the day deletes the mark.
 *
 * @returns false when the day has changed since the mark, or a rival is closing it
 */
async function closeDay(
  { views, clock, entropy }: CloseDaysTools,
  owner: ViewOwner,
  dayMs: number,
  found: ViewRow | undefined,
): Promise<boolean> {
  const key = totalKey(owner, dayMs);
  const token = entropy.ownerToken();
  const mark = totalRow(owner, dayMs, { kind: 'mark', token, atMs: clock.nowMs() });
  if (!(await views.exchange([{ key, from: found ?? null, to: mark }]))) return false;
  const day = { fromMs: dayMs, untilMs: dayMs + DAY_MS };
  const [sums, volumes] = await Promise.all([sumEntries(views, owner, day, true), sumVolumes(views, owner, day, true)]);
  const total = totalRow(owner, dayMs, {
    kind: 'total',
    token,
    sums: [...sums.values()].map(stored),
    ...(volumes === undefined ? {} : { volumes: [...(volumes.get(dayMs) ?? NO_VOLUMES).values()].map(storedVolume) }),
  });
  return views.exchange([{ key, from: mark, to: total }]);
}

function totalRow(owner: ViewOwner, dayMs: number, body: TotalBody): ViewRow {
  return { ...totalKey(owner, dayMs), sequence: 0, body: JSON.stringify(body) };
}

function stored({
  account,
  currency,
  debit,
  credit,
}: {
  account: Account;
  currency: string;
  debit: bigint;
  credit: bigint;
}) {
  return { account, currency, debit: String(debit), credit: String(credit) };
}

function storedVolume(volume: Volume): StoredVolume {
  return { ...volume, amount: String(volume.amount) };
}

function isMarked({ body }: ViewRow, nowMs: number): boolean {
  const total = JSON.parse(body) as TotalBody;
  return total.kind === 'mark' && Math.abs(nowMs - total.atMs) < MARK_MS;
}

/** @returns undefined when the day is not closed yet */
export function closedSums({ body }: ViewRow): Sums | undefined {
  const total = JSON.parse(body) as TotalBody;
  if (total.kind === 'mark') return undefined;
  return new Map(
    total.sums.map(({ account, currency, debit, credit }) => {
      invariant(ACCOUNTS.includes(account), `unknown account ${account}`);
      return [sumKey(account, currency), { account, currency, debit: BigInt(debit), credit: BigInt(credit) }];
    }),
  );
}

/** @returns undefined when the day is not closed yet, or was closed without volumes */
export function closedVolumes({ body }: ViewRow): Volumes | undefined {
  const total = JSON.parse(body) as TotalBody;
  if (total.kind === 'mark' || total.volumes === undefined) return undefined;
  return volumesOf(total.volumes.map((volume) => ({ ...volume, amount: BigInt(volume.amount) })));
}

/** Returns all rows of daily totals, including marks, oldest first. */
export async function totalRows(views: Pick<ViewStore, 'range'>, owner: ViewOwner): Promise<readonly ViewRow[]> {
  const rows: ViewRow[] = [];
  for (let from: string = FIRST_SORT_KEY; rows.length < MAX_DAYS; from = `${rows.at(-1)?.sort ?? FIRST_SORT_KEY} `) {
    const found = await views.range({ partition: totalsPartition(owner), from, until: LAST_SORT_KEY, limit: PAGE });
    rows.push(...found);
    if (found.length < PAGE) break;
  }
  return rows;
}

export interface Period {
  /** Inclusive. */
  readonly fromMs?: number;
  /** Exclusive. */
  readonly untilMs?: number;
}

export async function sumEntries(
  views: Pick<ViewStore, 'range'>,
  owner: ViewOwner,
  period: Period,
  consistent: boolean,
): Promise<Sums> {
  let sums = NO_SUMS;
  await eachPage(views, entryList(owner, 'all'), period, consistent, (rows) => {
    sums = addedSums(sums, sumsOf(rows.flatMap((row) => bookEntryOf(row).legs)));
  });
  return sums;
}

/**
 * A day without events has no entry.
 *
 * @returns undefined when an earlier version projected one of the events, so that its row contains no amount; a rebuild
 * replaces such rows
 */
export async function sumVolumes(
  views: Pick<ViewStore, 'range'>,
  owner: ViewOwner,
  period: Period,
  consistent: boolean,
): Promise<ReadonlyMap<number, Volumes> | undefined> {
  const days = new Map<number, Volumes>();
  let isWhole = true;
  await eachPage(views, eventList(owner, undefined), period, consistent, (rows) => {
    for (const [day, ofDay] of Map.groupBy(rows, ({ sort }) => dayOf(timeOf(sort)))) {
      const counted = ofDay.map(({ body }) => JSON.parse(body) as EventBody).filter((body) => 'amountMinor' in body);
      isWhole &&= counted.length === ofDay.length;
      days.set(day, addedVolumes(days.get(day) ?? NO_VOLUMES, volumesOf(counted.map(volumeOf))));
    }
  });
  return isWhole ? days : undefined;
}

async function eachPage(
  views: Pick<ViewStore, 'range'>,
  { partitions }: ViewList,
  { fromMs, untilMs }: Period,
  consistent: boolean,
  take: (rows: readonly ViewRow[]) => void,
): Promise<void> {
  const until = untilMs === undefined ? LAST_SORT_KEY : timeSortKey(untilMs);
  await Promise.all(
    partitions.map(async (partition) => {
      let from = fromMs === undefined ? FIRST_SORT_KEY : timeSortKey(fromMs);
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const rows = await views.range({ partition, from, until, limit: PAGE, consistent });
        take(rows);
        if (rows.length < PAGE) return;
        from = `${rows.at(-1)?.sort ?? from} `;
      }
      invariant(false, `the partition ${partition} exceeds the maximum number of pages`);
    }),
  );
}
