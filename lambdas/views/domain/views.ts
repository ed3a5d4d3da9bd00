import type { PayonceEvent, PublicEventType } from '../../events/domain/event.ts';
import { PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { ViewsRow } from '../../kernel/contract/rows.ts';
import type { Mode, PaymentId, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { PaymentStatus, TransitionType } from '../../payments/domain/payment.ts';
import type { Account, Posting } from '../../payments/domain/posting.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import { renderedOrder } from './object-order.ts';

/** One tenant in one mode: nothing in the Views is read across that border. */
export interface ViewOwner {
  readonly tenantId: TenantId;
  readonly mode: Mode;
}

export interface ViewKey {
  readonly partition: string;
  /** Begins with digits. */
  readonly sort: string;
}

/** A row of the Views. Whoever makes it from the same event makes the same row. */
export interface ViewRow extends ViewKey {
  /** What it was made from; a day's total has no payment. */
  readonly paymentId?: PaymentId;
  readonly sequence: number;
  /** JSON, kept as text: what a client gets has the same bytes as when it was rendered. */
  readonly body: string;
}

/** What one event says to the Views. */
export interface EventViews {
  readonly owner: ViewOwner;
  readonly occurredAtMs: number;
  /** True for ever, whatever comes later: put in any order, any number of times. */
  readonly lasting: readonly ViewRow[];
  /** The payment as it stands after this event: they replace those of an earlier one, and never those of a later one. */
  readonly heads: readonly ViewRow[];
  /** Written last: where it is, all of the above was written. */
  readonly seen: ViewRow;
}

/**
 * The writes of each list of a tenant are spread over so many partitions: a partition takes a thousand rows a second
 * (Amazon DynamoDB developer guide, "Burst and adaptive capacity"), and a page costs a query for each.
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

/** Whether merchants are told of it. */
export function isPublicType(type: TransitionType): type is PublicEventType {
  return PUBLIC_EVENT_TYPES.some((each) => each === type);
}

// ---------------------------------------------------------------------------------------------------------------- heads

/** What the lists need to know of a payment's body. */
interface PaymentBody {
  readonly id: PaymentId;
  readonly status: PaymentStatus;
  readonly reference: string | null;
  /** Unix seconds. */
  readonly created: number;
}

/**
 * The head itself, then a copy for each filter: rare payments are found among many without reading the many.
 *
 * @param body the payment as the API shows it
 */
export function headRows(owner: ViewOwner, sequence: number, body: string): readonly ViewRow[] {
  // Rendered by `paymentObject`, or read back from a row that was.
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

/** Of one reference, at most one payment has not failed: the others are few, so they need no shards. */
function referencePartition(owner: ViewOwner, reference: string, status: PaymentStatus | 'all'): string {
  return `${ViewsRow.reference}${owned(owner)}#${status}#${reference}`;
}

/**
 * The partitions in which the payments stand that a list asks for. Each stands in exactly one of them, and never moves to
 * another: they are read one by one, so what moved meanwhile would be found twice, or not at all.
 */
export function paymentPartitions(
  owner: ViewOwner,
  { status, reference }: { readonly status?: PaymentStatus; readonly reference?: string },
): readonly string[] {
  if (reference === undefined) return shards((shard) => paymentPartition(owner, status ?? 'all', shard));
  return [referencePartition(owner, reference, status ?? 'all')];
}

// ---------------------------------------------------------------------------------------------------------------- books

/** The legs of one transition: all of them, or those on one account. */
export interface BookEntry {
  readonly occurredAtMs: number;
  readonly paymentId: PaymentId;
  readonly sequence: number;
  readonly type: TransitionType;
  readonly legs: readonly (Posting & { readonly leg: number })[];
}

/** A set of postings is one row, so that no reader ever sees half of it; and one more for each account. */
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

/** Sorts as entries do: by time, then payment, then sequence. */
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

/** One for each day that was closed: nothing is ever added to it, so no row is hot. */
export function totalsPartition(owner: ViewOwner): string {
  return `${ViewsRow.total}${owned(owner)}`;
}

export function totalKey(owner: ViewOwner, dayMs: number): ViewKey {
  return { partition: totalsPartition(owner), sort: placeOf(dayMs) };
}

/** Unix milliseconds of the UTC midnight before. */
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

/** One for each event, public or not. */
export function seenKey({ paymentId, sequence }: Pick<BookEntry, 'paymentId' | 'sequence'>): ViewKey {
  return { partition: `${ViewsRow.seen}${paymentId}`, sort: sequenceDigits(sequence) };
}

// ----------------------------------------------------------------------------------------------------------------- keys

/** Fifteen digits, which is until the year 33658: text that sorts as the time does. */
const TIME_DIGITS = 15;

/** Before all rows, and behind all rows, of a partition. */
export const FIRST_PLACE = '0';
export const LAST_PLACE = ':';

/** @param ms Unix milliseconds */
export function placeOf(ms: number, id?: string): string {
  invariant(Number.isSafeInteger(ms) && ms >= 0, `${ms} is no time`);
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

/** By the last letter of the derived id, which is as good as any other hash. */
function shardOf(paymentId: PaymentId): number {
  return BASE32_ALPHABET.indexOf(paymentId.at(-1) ?? 'a') % VIEW_SHARDS;
}

// ------------------------------------------------------------------------------------------------------------- mismatches

/** All of them, of every owner: what is counted, and what is looked at again. Few, so they need no shards. */
export const ALL_MISMATCHES = ViewsRow.allMismatches;

/** Those of one owner; without an owner, the charges that belong to no payment that is known. */
export function mismatchPartition(owner: ViewOwner | undefined): string {
  return owner === undefined ? ViewsRow.mismatch : `${ViewsRow.mismatch}${owner.tenantId}#${owner.mode}`;
}

/** Rows that come of comparing with a processor: the Ledger alone implies none of them, and says nothing against them. */
export function isOfComparison({ partition }: Pick<ViewKey, 'partition'>): boolean {
  return partition === ALL_MISMATCHES || partition.startsWith(ViewsRow.mismatch);
}
