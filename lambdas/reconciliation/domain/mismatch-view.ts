import { base32, type Digest } from '../../kernel/digest.ts';
import { timeSortKey } from '../../kernel/places.ts';
import type { BooksIdentity } from '../../payments/domain/processor-charge.ts';
import { ALL_MISMATCHES, mismatchPartition, type ViewKey, type ViewOwner } from '../../views/domain/lists.ts';
import { type ViewRow } from '../../views/domain/views.ts';
import type { Mismatch } from './compare-books.ts';

/** The subject of a comparison: a payment in one currency, or a charge without a known payment. */
export interface ComparisonSubject {
  readonly books: BooksIdentity;
  /** The owner of the payment; absent for a charge without a known payment. */
  readonly owner?: ViewOwner;
  /** The id of the payment or of the charge. */
  readonly subject: string;
  readonly createdAtMs: number;
  readonly currency: string;
}

/** Effect of a comparison on the stored mismatch. */
export type MismatchChange = 'suspected' | 'confirmed' | 'gone';

export type MismatchCounts = Readonly<Record<OpenMismatch['status'], number>>;

/** Stored until a later comparison finds no difference. */
export interface OpenMismatch extends ComparisonSubject {
  readonly id: string;
  readonly mismatch: Mismatch;
  /**
   * `suspected` at first. `confirmed` after the same difference has lasted {@link STEADY_FOR_MS}. Only a confirmed
   * mismatch raises an alarm.
   */
  readonly status: 'suspected' | 'confirmed';
  readonly firstSeenAtMs: number;
  /** Time since which the difference has been unchanged, in Unix milliseconds. */
  readonly steadySinceMs: number;
  readonly lastSeenAtMs: number;
}

/**
 * Time for which a difference must stay unchanged to be confirmed, in milliseconds. Callbacks are processed within
 * seconds, unknown outcomes are looked up every minute, and even the slowest processor search normally returns a new
 * charge within a minute (Stripe API reference, "Search").
 */
export const STEADY_FOR_MS = 10 * 60 * 1000;

/** Maximum number of charge ids per row, to keep a row below 2 kB. */
const MAX_CHARGE_IDS = 20;

/**
 * While a payment is changing, the next comparison finds a different amount. The mismatch then stays suspected and
 * raises no alarm.
 *
 * @param found the stored mismatch; undefined if there is none
 * @param nowMs start of the comparison, in Unix milliseconds
 */
export function updatedMismatch(
  digest: Pick<Digest, 'sha256'>,
  found: OpenMismatch | undefined,
  about: ComparisonSubject,
  mismatch: Mismatch,
  nowMs: number,
): OpenMismatch {
  // The stored comparison started later than this one, so this result is outdated.
  if (found !== undefined && nowMs < found.lastSeenAtMs) return found;
  const isSteady = found !== undefined && differenceMinor(found.mismatch) === differenceMinor(mismatch);
  const steadySinceMs = isSteady ? found.steadySinceMs : nowMs;
  const isConfirmed = found?.status === 'confirmed' || nowMs - steadySinceMs >= STEADY_FOR_MS;
  return {
    ...about,
    id: mismatchId(digest, about),
    mismatch: { ...mismatch, chargeIds: mismatch.chargeIds.slice(0, MAX_CHARGE_IDS) },
    status: isConfirmed ? 'confirmed' : 'suspected',
    firstSeenAtMs: found?.firstSeenAtMs ?? nowMs,
    steadySinceMs,
    lastSeenAtMs: nowMs,
  };
}

function differenceMinor({ processorMinor, ledgerMinor }: Mismatch): number {
  return processorMinor - ledgerMinor;
}

// ------------------------------------------------------------------------------------------------------------------ rows

const PREFIX = 'mis_';
/** Length of the digest in an id (128 bits). The id also contains the time, which locates the row. */
const DIGEST_BYTES = 16;
export const MISMATCH_ID = /^mis_([0-9a-z]{1,10})_[a-z2-7]{26}$/;

function mismatchId(
  digest: Pick<Digest, 'sha256'>,
  { books, subject, createdAtMs, currency }: ComparisonSubject,
): string {
  const name = digest.sha256(JSON.stringify(['mismatch', books.name, books.mode, books.account, subject, currency]));
  return `${PREFIX}${createdAtMs.toString(36)}_${base32(name.subarray(0, DIGEST_BYTES))}`;
}

/** Returns the sort key of a mismatch in its list. */
export function mismatchPlace(id: string): string | undefined {
  const [, time] = MISMATCH_ID.exec(id) ?? [];
  if (time === undefined) return undefined;
  const createdAtMs = Number.parseInt(time, 36);
  return createdAtMs.toString(36) === time ? timeSortKey(createdAtMs, id) : undefined;
}

export function mismatchKey(digest: Pick<Digest, 'sha256'>, about: ComparisonSubject): ViewKey {
  return {
    partition: mismatchPartition(about.owner),
    sort: timeSortKey(about.createdAtMs, mismatchId(digest, about)),
  };
}

/** One row in the owner's list, and a copy in the list of all mismatches. One transaction writes both. */
export function mismatchRows(open: OpenMismatch): readonly [ViewRow, ViewRow] {
  const place = { sort: timeSortKey(open.createdAtMs, open.id), sequence: 0, body: JSON.stringify(open) };
  return [
    { partition: mismatchPartition(open.owner), ...place },
    { partition: ALL_MISMATCHES, ...place },
  ];
}

export function openMismatchOf({ body }: Pick<ViewRow, 'body'>): OpenMismatch {
  return JSON.parse(body) as OpenMismatch;
}
