import type { PayonceEvent, PublicEventType } from '../../events/domain/event.ts';
import { PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { ViewsRow } from '../../kernel/contract/rows.ts';
import type { Mode, PaymentId, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { PaymentStatus, TransitionType } from '../../payments/domain/payment.ts';
import type { Account, Posting } from '../../payments/domain/posting.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import { renderedOrder } from './object-order.ts';

/** One tenant in one mode. No query of the Views crosses this boundary. */
export interface ViewOwner {
  readonly tenantId: TenantId;
  readonly mode: Mode;
}

export interface ViewKey {
  readonly partition: string;
  /** Begins with digits. */
  readonly sort: string;
}

/** A row of the Views. The same event always produces the same row. */
export interface ViewRow extends ViewKey {
  /** The payment from which the row is derived. Absent in a day's total. */
  readonly paymentId?: PaymentId;
  readonly sequence: number;
  /** JSON as text, so that clients receive the bytes that were rendered. */
  readonly body: string;
}

/** The rows that one event implies. */
export interface EventViews {
  readonly owner: ViewOwner;
  readonly occurredAtMs: number;
  /** Rows that never change. They can be put in any order and any number of times. */
  readonly lasting: readonly ViewRow[];
  /** The payment after this event. They replace the heads of an earlier event, never those of a later one. */
  readonly heads: readonly ViewRow[];
  /** Written last: if it exists, all rows above were written. */
  readonly seen: ViewRow;
}

/**
 * Number of partitions of each list of a tenant. A partition accepts 1,000 write units per second (Amazon DynamoDB developer
 * guide, "Burst and adaptive capacity"); a page costs one query per partition.
 */
const VIEW_SHARDS = 4;

export const DAY_MS = 24 * 60 * 60 * 1000;

export function viewsOf(event: PayonceEvent): EventViews {
  const owner = { tenantId: event.tenant, mode: event.mode };
  const { occurredAtMs, payment } = event;
  const { id, type, sequence } = event.event;
  const paymentId = payment.id as PaymentId;
  return {
    owner,
    occurredAtMs,
    lasting: [
      ...bookRows(owner, event),
      ...(isPublicType(type) ? [eventRow(owner, event, 'all'), eventRow(owner, event, type)] : []),
    ],
    heads: headRows(owner, sequence, JSON.stringify(renderedOrder(payment))),
    seen: { ...seenKey({ paymentId, sequence }), paymentId, sequence, body: JSON.stringify(id) },
  };
}

/** Whether the event is visible to merchants. */
export function isPublicType(type: TransitionType): type is PublicEventType {
  return PUBLIC_EVENT_TYPES.some((each) => each === type);
}

// ---------------------------------------------------------------------------------------------------------------- heads

/** The fields of a payment's body that the lists use. */
interface PaymentBody {
  readonly id: PaymentId;
  readonly status: PaymentStatus;
  readonly reference: string | null;
  /** Unix seconds. */
  readonly created: number;
}

/**
 * The head itself, then one copy for each filter, so that a filtered list reads only its own rows.
 *
 * @param body the API's representation of the payment
 */
export function headRows(owner: ViewOwner, sequence: number, body: string): readonly ViewRow[] {
  // The body comes from `paymentObject` or from a stored row.
  const { id, status, reference, created } = JSON.parse(body) as PaymentBody;
  const sort = placeOf(created * 1000, id);
  const partitions = [
    paymentPartition(owner, 'all', shardOf(id)),
    paymentPartition(owner, status, shardOf(id)),
    ...(reference === null
      ? []
      : [referencePartition(owner, reference, 'all'), referencePartition(owner, reference, status)]),
  ];
  return partitions.map((partition) => ({ partition, sort, paymentId: id, sequence, body }));
}

function paymentPartition(owner: ViewOwner, status: PaymentStatus | 'all', shard: number): string {
  return `${ViewsRow.payment}${owned(owner)}#${status}#${shard}`;
}

/** No shards: at most one payment of a reference has not failed, and the failed ones are few. */
function referencePartition(owner: ViewOwner, reference: string, status: PaymentStatus | 'all'): string {
  return `${ViewsRow.reference}${owned(owner)}#${status}#${reference}`;
}

/**
 * The partitions of a list of payments. Each payment is in exactly one of them and never moves to another. The partitions are
 * read separately, so a payment that moved meanwhile would be listed twice or not at all.
 */
export function paymentPartitions(
  owner: ViewOwner,
  { status, reference }: { readonly status?: PaymentStatus; readonly reference?: string },
): readonly string[] {
  if (reference === undefined) return shards((shard) => paymentPartition(owner, status ?? 'all', shard));
  return [referencePartition(owner, reference, status ?? 'all')];
}

// ---------------------------------------------------------------------------------------------------------------- books

/** The postings of one transition: all of them, or those on one account. */
export interface BookEntry {
  readonly occurredAtMs: number;
  readonly paymentId: PaymentId;
  readonly sequence: number;
  readonly type: TransitionType;
  readonly legs: readonly (Posting & { readonly leg: number })[];
}

/** One row for the whole set of postings, so that no reader sees part of it, and one row per account. */
function bookRows(owner: ViewOwner, { event, payment, postings, occurredAtMs }: PayonceEvent): readonly ViewRow[] {
  if (postings.length === 0) return [];
  const paymentId = payment.id as PaymentId;
  const { sequence, type } = event;
  const legs = postings.map((posting, leg) => ({ ...posting, leg }));
  const rowOf = (book: Account | 'all', shown: BookEntry['legs']): ViewRow => {
    const entry: BookEntry = { occurredAtMs, paymentId, sequence, type, legs: shown };
    return {
      partition: bookPartition(owner, book, shardOf(paymentId)),
      sort: bookPlace(entry),
      paymentId,
      sequence,
      body: JSON.stringify(entry),
    };
  };
  const posted = ACCOUNTS.filter((account) => legs.some((leg) => leg.account === account));
  const own = posted.map((account) =>
    rowOf(
      account,
      legs.filter((leg) => leg.account === account),
    ),
  );
  return [rowOf('all', legs), ...own];
}

function bookPartition(owner: ViewOwner, book: Account | 'all', shard: number): string {
  return `${ViewsRow.book}${owned(owner)}#${book}#${shard}`;
}

export function bookPartitions(owner: ViewOwner, book: Account | 'all'): readonly string[] {
  return shards((shard) => bookPartition(owner, book, shard));
}

/** Sorts like entries: by time, then payment, then sequence. */
export function bookPlace({
  occurredAtMs,
  paymentId,
  sequence,
}: Pick<BookEntry, 'occurredAtMs' | 'paymentId' | 'sequence'>): string {
  return placeOf(occurredAtMs, `${paymentId}#${sequenceDigits(sequence)}`);
}

export function bookEntryOf({ body }: ViewRow): BookEntry {
  return JSON.parse(body) as BookEntry;
}

/** One row per closed day. No row is updated per payment, so no row is hot. */
export function totalsPartition(owner: ViewOwner): string {
  return `${ViewsRow.total}${owned(owner)}`;
}

export function totalKey(owner: ViewOwner, dayMs: number): ViewKey {
  return { partition: totalsPartition(owner), sort: placeOf(dayMs) };
}

/** The UTC midnight at or before `ms`. Unix milliseconds. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

// --------------------------------------------------------------------------------------------------------------- events

export function eventPartitions(owner: ViewOwner, type: PublicEventType | 'all'): readonly string[] {
  return shards((shard) => eventPartition(owner, type, shard));
}

function eventPartition(owner: ViewOwner, type: PublicEventType | 'all', shard: number): string {
  return `${ViewsRow.event}${owned(owner)}#${type}#${shard}`;
}

export function eventPlace({ occurredAtMs, event }: Pick<PayonceEvent, 'occurredAtMs' | 'event'>): string {
  return placeOf(occurredAtMs, event.id);
}

function eventRow(owner: ViewOwner, event: PayonceEvent, list: PublicEventType | 'all'): ViewRow {
  const paymentId = event.payment.id as PaymentId;
  return {
    partition: eventPartition(owner, list, shardOf(paymentId)),
    sort: eventPlace(event),
    paymentId,
    sequence: event.event.sequence,
    body: JSON.stringify(renderedOrder({ ...event.event })),
  };
}

/** Key of the row that marks an event as projected. Every event has one, public or not. */
export function seenKey({ paymentId, sequence }: Pick<BookEntry, 'paymentId' | 'sequence'>): ViewKey {
  return { partition: `${ViewsRow.seen}${paymentId}`, sort: sequenceDigits(sequence) };
}

// ----------------------------------------------------------------------------------------------------------------- keys

/** Fifteen digits of milliseconds last until the year 33658. The text sorts by time. */
const TIME_DIGITS = 15;

/** Sort keys before and after all rows of a partition. */
export const FIRST_PLACE = '0';
export const LAST_PLACE = ':';

/** @param ms Unix milliseconds */
export function placeOf(ms: number, id?: string): string {
  invariant(Number.isSafeInteger(ms) && ms >= 0, `${ms} is not a time`);
  const time = String(ms).padStart(TIME_DIGITS, '0');
  return id === undefined ? time : `${time}#${id}`;
}

/** @returns the Unix milliseconds of a place */
export function timeOf(place: string): number {
  return Number(place.slice(0, TIME_DIGITS));
}

function sequenceDigits(sequence: number): string {
  return String(sequence).padStart(6, '0');
}

function owned({ tenantId, mode }: ViewOwner): string {
  return `${tenantId}#${mode}`;
}

function shards(partitionOf: (shard: number) => string): readonly string[] {
  return Array.from({ length: VIEW_SHARDS }, (_, shard) => partitionOf(shard));
}

const BASE32_ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** The last letter of the id selects the shard. Ids are derived from a hash, so their letters are evenly distributed. */
function shardOf(paymentId: PaymentId): number {
  return BASE32_ALPHABET.indexOf(paymentId.at(-1) ?? 'a') % VIEW_SHARDS;
}

// ------------------------------------------------------------------------------------------------------------- mismatches

/** The partition of the mismatches of all owners, used to count them and to look at them again. They are few: no shards. */
export const ALL_MISMATCHES = ViewsRow.allMismatches;

/** The mismatches of one owner; without an owner, the charges without a known payment. */
export function mismatchPartition(owner: ViewOwner | undefined): string {
  return owner === undefined ? ViewsRow.mismatch : `${ViewsRow.mismatch}${owner.tenantId}#${owner.mode}`;
}

/** Whether the row results from a comparison with a processor. The Ledger alone neither implies nor contradicts such rows. */
export function isOfComparison({ partition }: Pick<ViewKey, 'partition'>): boolean {
  return partition === ALL_MISMATCHES || partition.startsWith(ViewsRow.mismatch);
}
