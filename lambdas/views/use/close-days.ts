import type { OwnerToken } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { placeOf } from '../../kernel/places.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { ACCOUNTS, type Account } from '../../payments/domain/posting.ts';
import { addedSums, NO_SUMS, type Sums, sumKey, sumsOf } from '../../payments/domain/sums.ts';
import { bookList, FIRST_PLACE, LAST_PLACE, totalKey, totalsPartition, type ViewOwner } from '../domain/lists.ts';
import { bookEntryOf, DAY_MS, dayOf, type ViewRow } from '../domain/views.ts';
import { mergedRows } from './merged-rows.ts';
import type { ViewStore } from './view-store.ts';

export interface CloseDaysTools {
  readonly views: ViewStore;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly entropy: Pick<Entropy, 'ownerToken'>;
}

/** Most of a day's events have been projected by then. Later events reopen the day, so this delay only saves work. */
const SETTLED_AFTER_MS = 60 * 60 * 1000;
/** Rows per query. A set of postings has a few hundred bytes, so a page stays below 1 MB. */
const PAGE = 1_000;
/** Per partition and range: four million sets of postings. */
const MAX_PAGES = 4_000;
/** Forty years of days. */
const MAX_DAYS = 15_000;

/** Longer than summing the largest day takes. After it, the closer that wrote the mark has crashed. Milliseconds. */
const MARK_MS = 5 * 60 * 1000;

/**
 * The body of a day's row. Balances ignore a mark. A mark tells its closer whether the day has changed, and rivals that the
 * day is being closed. If rivals replaced each other's marks, none of them would finish.
 */
type TotalBody =
  | { readonly kind: 'mark'; readonly token: OwnerToken; readonly atMs: number }
  | { readonly kind: 'total'; readonly token: OwnerToken; readonly sums: readonly StoredSum[] };

interface StoredSum {
  readonly account: Account;
  readonly currency: string;
  /** Decimal digits, because JSON numbers are exact only to 2^53. Minor units. */
  readonly debit: string;
  readonly credit: string;
}

export interface ClosedDays {
  readonly closed: number;
  /** Whether days remain: more than `atMost`, days that changed meanwhile, or days that a rival is closing. */
  readonly more: boolean;
}

/**
 * Sums the ended days, oldest first, each into one row that later balances read instead of the day's entries. Several closers
 * can run concurrently.
 */
export async function closeDays(tools: CloseDaysTools, owner: ViewOwner, atMost: number): Promise<ClosedDays> {
  const { views, clock } = tools;
  const [earliest] = await mergedRows(views, {
    ...bookList(owner, 'all'),
    from: FIRST_PLACE,
    until: LAST_PLACE,
    limit: 1,
  });
  if (earliest === undefined) return { closed: 0, more: false };
  const firstDay = dayOf(bookEntryOf(earliest).occurredAtMs);
  const totals = new Map((await totalRows(views, owner)).map((row) => [row.sort, row]));
  let closed = 0;
  let tried = 0;
  let others = 0;
  for (let day = firstDay; day + DAY_MS + SETTLED_AFTER_MS <= clock.nowMs(); day += DAY_MS) {
    const found = totals.get(placeOf(day));
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

/**
 * Writes a mark, sums the entries, and replaces the mark by the total. A projector that adds an entry to the day deletes the
 * mark.
 *
 * @returns false when the day changed meanwhile, or a rival closes it
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
  const sums = await sumEntries(views, owner, { fromMs: dayMs, untilMs: dayMs + DAY_MS }, true);
  const total = totalRow(owner, dayMs, { kind: 'total', token, sums: [...sums.values()].map(stored) });
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
      invariant(ACCOUNTS.includes(account), `${account} is not an account`);
      return [sumKey(account, currency), { account, currency, debit: BigInt(debit), credit: BigInt(credit) }];
    }),
  );
}

/** All rows of days' totals, including marks, oldest first. */
export async function totalRows(views: Pick<ViewStore, 'range'>, owner: ViewOwner): Promise<readonly ViewRow[]> {
  const rows: ViewRow[] = [];
  for (let from: string = FIRST_PLACE; rows.length < MAX_DAYS; from = `${rows.at(-1)?.sort ?? FIRST_PLACE} `) {
    const found = await views.range({ partition: totalsPartition(owner), from, until: LAST_PLACE, limit: PAGE });
    rows.push(...found);
    if (found.length < PAGE) break;
  }
  return rows;
}

export interface Period {
  /** Unix milliseconds, inclusive. */
  readonly fromMs?: number;
  /** Unix milliseconds, exclusive. */
  readonly untilMs?: number;
}

/** Sums the postings of a period. */
export async function sumEntries(
  views: Pick<ViewStore, 'range'>,
  owner: ViewOwner,
  { fromMs, untilMs }: Period,
  consistent: boolean,
): Promise<Sums> {
  const until = untilMs === undefined ? LAST_PLACE : placeOf(untilMs);
  const parts = await Promise.all(
    bookList(owner, 'all').partitions.map(async (partition) => {
      let sums = NO_SUMS;
      let from = fromMs === undefined ? FIRST_PLACE : placeOf(fromMs);
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const rows = await views.range({ partition, from, until, limit: PAGE, consistent });
        sums = addedSums(sums, sumsOf(rows.flatMap((row) => bookEntryOf(row).legs)));
        if (rows.length < PAGE) return sums;
        from = `${rows.at(-1)?.sort ?? from} `;
      }
      invariant(false, `the partition ${partition} exceeds the maximum number of pages`);
    }),
  );
  return parts.reduce(addedSums, NO_SUMS);
}
