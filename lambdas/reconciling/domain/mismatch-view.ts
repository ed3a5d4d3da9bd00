import { base32, type Digest } from '../../kernel/digest.ts';
import {
  ALL_MISMATCHES,
  mismatchPartition,
  placeOf,
  type ViewKey,
  type ViewOwner,
  type ViewRow,
} from '../../views/domain/views.ts';
import type { Mismatch } from './compare-books.ts';

/** Which of a processor's accounts something was read from. */
export interface BooksName {
  readonly name: string;
  readonly account: string;
}

/** What a look at two books is about: a payment in one currency, or a charge that belongs to no payment that is known. */
export interface LookedAt {
  readonly books: BooksName;
  /** Whose payment it is; left out for a charge that is nobody's. */
  readonly owner?: ViewOwner;
  /** The payment's id, or the charge's. */
  readonly subject: string;
  /** Of the payment, or of the charge. Unix milliseconds. */
  readonly createdAtMs: number;
  readonly currency: string;
}

/** What a look has changed. */
export type MismatchChange = 'suspected' | 'confirmed' | 'gone';

/** How many are open. */
export type MismatchCounts = Readonly<Record<OpenMismatch['status'], number>>;

/** A difference as the view keeps it until a later look finds that it is gone. */
export interface OpenMismatch extends LookedAt {
  readonly id: string;
  readonly mismatch: Mismatch;
  /** Suspected by one look, confirmed by a second one: only then anybody is told. */
  readonly status: 'suspected' | 'confirmed';
  readonly firstSeenAtMs: number;
  /** Since when the two have been apart by the same amount. */
  readonly steadySinceMs: number;
  readonly lastSeenAtMs: number;
}

/**
 * How long the two must have been apart by the same amount. A callback is taken in within seconds, what is unknown is asked
 * for every minute, and the slowest search of a processor has a new charge within a minute (Stripe API reference, "Search").
 */
export const STEADY_FOR_MS = 10 * 60 * 1000;

/** More charges of one payment tell a person nothing new; a row stays below two kilobytes. */
const MAX_CHARGE_IDS = 20;

/**
 * What the view has after a look that found a difference. A payment that moves at this very moment shows another amount at
 * the next look, or none: it is suspected again, and nobody is told. What was confirmed stays so until it is gone.
 *
 * @param found as the view has it
 * @param nowMs when the look began
 */
export function seenAgain(
  digest: Pick<Digest, 'sha256'>,
  found: OpenMismatch | undefined,
  about: LookedAt,
  mismatch: Mismatch,
  nowMs: number,
): OpenMismatch {
  // A look that began earlier and comes later knows nothing new.
  if (found !== undefined && nowMs < found.lastSeenAtMs) return found;
  const isSteady = found !== undefined && apart(found.mismatch) === apart(mismatch);
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

function apart({ processorMinor, ledgerMinor }: Mismatch): number {
  return processorMinor - ledgerMinor;
}

// ------------------------------------------------------------------------------------------------------------------ rows

const PREFIX = 'mis_';
/** 128 bits of the digest, and the time by which it is found. */
const DIGEST_BYTES = 16;
const SPELLED = /^mis_([0-9a-z]{1,10})_[a-z2-7]{26}$/;

function mismatchId(digest: Pick<Digest, 'sha256'>, { books, subject, createdAtMs, currency }: LookedAt): string {
  const name = digest.sha256(JSON.stringify(['mismatch', books.name, books.account, subject, currency]));
  return `${PREFIX}${createdAtMs.toString(36)}_${base32(name.subarray(0, DIGEST_BYTES))}`;
}

/** Where a mismatch stands in its list. @returns undefined when the text is no mismatch's id */
export function mismatchPlace(id: string): string | undefined {
  const [, time] = SPELLED.exec(id) ?? [];
  if (time === undefined) return undefined;
  const createdAtMs = Number.parseInt(time, 36);
  return createdAtMs.toString(36) === time ? placeOf(createdAtMs, id) : undefined;
}

export function mismatchKey(digest: Pick<Digest, 'sha256'>, about: LookedAt): ViewKey {
  return {
    partition: mismatchPartition(about.owner),
    sort: placeOf(about.createdAtMs, mismatchId(digest, about)),
  };
}

/** The row in its owner's list, and its copy in the list of all: they change together. */
export function mismatchRows(open: OpenMismatch): readonly [ViewRow, ViewRow] {
  const place = { sort: placeOf(open.createdAtMs, open.id), sequence: 0, body: JSON.stringify(open) };
  return [
    { partition: mismatchPartition(open.owner), ...place },
    { partition: ALL_MISMATCHES, ...place },
  ];
}

export function openMismatchOf({ body }: Pick<ViewRow, 'body'>): OpenMismatch {
  return JSON.parse(body) as OpenMismatch;
}
