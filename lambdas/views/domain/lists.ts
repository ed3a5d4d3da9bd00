import type { PublicEventType } from '../../events/domain/event.ts';
import { ViewsRow } from '../../kernel/contract/rows.ts';
import type { Mode, OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import { listShardOf, sharded, TIME_DIGITS, timeSortKey } from '../../kernel/places.ts';
import type { OrderStatus } from '../../orders/domain/order.ts';
import type { PaymentStatus } from '../../payments/domain/payment.ts';
import type { Account } from '../../payments/domain/posting.ts';
import type { ChainId } from '../../payments/ids.ts';

/*
 * Defines how the lists of the Views are stored. Only this file builds their partition names. `kernel/places.ts`
 * defines most sort keys.
 *
 * | list                     | partition                         | read from    |
 * |--------------------------|-----------------------------------|--------------|
 * | payments                 | `PAYMENT#owner#shard`             | table        |
 * | payments with a status   | `PAYMENT#owner#status#shard`      | index `lists`|
 * | payments of a reference  | `REFERENCE#owner#reference`       | table        |
 * | orders                   | `ORDER#owner#shard`               | table        |
 * | orders with a status     | `ORDER#owner#status#shard`        | index `lists`|
 * | disputes                 | `DISPUTE#owner`                   | table        |
 * | events                   | `EVENT#owner#shard`               | table        |
 * | events of a type         | `EVENT#owner#type#shard`          | index `lists`|
 * | entries                  | `BOOK#owner#all#shard`            | table        |
 * | entries of an account    | `BOOK#owner#account#shard`        | table        |
 * | totals of days           | `TOTAL#owner`                     | table        |
 * | reviews, of all owners   | `REVIEWS`                         | table        |
 * | mismatches               | `MISMATCH#owner`                  | table        |
 * | mismatches of all owners | `MISMATCHES`                      | table        |
 *
 * An owner is a tenant and a mode. Rows are sorted by time, then id. A row of the table can also be in one list of the
 * index: its attribute `list` names the partition there, and DynamoDB moves the index entry when the attribute changes.
 * To add a filter, define its partition here. To include table rows in the filtered list, set their `list` attribute,
 * or write separate rows.
 */

/** Only operators' queries and commands, and jobs, read rows of more than one owner. */
export interface ViewOwner {
  readonly tenantId: TenantId;
  readonly mode: Mode;
}

export interface ViewKey {
  readonly partition: string;
  /** The sort key; begins with digits. */
  readonly sort: string;
}

/** Each row is in exactly one of the partitions. */
export interface ViewList {
  readonly partitions: readonly string[];
  /**
   * True if the partitions belong to the index `lists`, which is eventually consistent.
   * @default the partitions belong to the table
   */
  readonly indexed?: true;
}

function owned({ tenantId, mode }: ViewOwner): string {
  return `${tenantId}#${mode}`;
}

// ------------------------------------------------------------------------------------------------------------- payments

export function paymentPartition(owner: ViewOwner, id: PaymentId): string {
  return paymentShard(owner, listShardOf(id));
}

export function statusPartition(owner: ViewOwner, status: PaymentStatus, id: PaymentId): string {
  return statusShard(owner, status, listShardOf(id));
}

/**
 * The partition is small, and therefore not sharded: a reference has at most one payment that is neither failed nor
 * canceled, and only a few failed or canceled ones.
 */
export function referencePartition(owner: ViewOwner, reference: string): string {
  return `${ViewsRow.reference}${owned(owner)}#${reference}`;
}

export function paymentList(owner: ViewOwner, status: PaymentStatus | undefined): ViewList {
  if (status === undefined) return { partitions: sharded((shard) => paymentShard(owner, shard)) };
  return { partitions: sharded((shard) => statusShard(owner, status, shard)), indexed: true };
}

function paymentShard(owner: ViewOwner, shard: number): string {
  return `${ViewsRow.payment}${owned(owner)}#${shard}`;
}

function statusShard(owner: ViewOwner, status: PaymentStatus, shard: number): string {
  return `${ViewsRow.payment}${owned(owner)}#${status}#${shard}`;
}

// --------------------------------------------------------------------------------------------------- orders and disputes

export function orderPartition(owner: ViewOwner, id: OrderId): string {
  return orderShard(owner, listShardOf(id));
}

export function orderStatusPartition(owner: ViewOwner, status: OrderStatus, id: OrderId): string {
  return orderStatusShard(owner, status, listShardOf(id));
}

export function orderList(owner: ViewOwner, status: OrderStatus | undefined): ViewList {
  if (status === undefined) return { partitions: sharded((shard) => orderShard(owner, shard)) };
  return { partitions: sharded((shard) => orderStatusShard(owner, status, shard)), indexed: true };
}

function orderShard(owner: ViewOwner, shard: number): string {
  return `${ViewsRow.order}${owned(owner)}#${shard}`;
}

function orderStatusShard(owner: ViewOwner, status: OrderStatus, shard: number): string {
  return `${ViewsRow.order}${owned(owner)}#${status}#${shard}`;
}

/** Not sharded, because only one in several hundred payments is disputed. */
export function disputePartition(owner: ViewOwner): string {
  return `${ViewsRow.dispute}${owned(owner)}`;
}

// --------------------------------------------------------------------------------------------------------------- events

export function eventSortKey({ occurredAtMs, id }: { readonly occurredAtMs: number; readonly id: string }): string {
  return timeSortKey(occurredAtMs, id);
}

export function eventPartition(owner: ViewOwner, chainId: ChainId): string {
  return eventShard(owner, listShardOf(chainId));
}

export function typePartition(owner: ViewOwner, type: PublicEventType, chainId: ChainId): string {
  return typeShard(owner, type, listShardOf(chainId));
}

export function eventList(owner: ViewOwner, type: PublicEventType | undefined): ViewList {
  if (type === undefined) return { partitions: sharded((shard) => eventShard(owner, shard)) };
  return { partitions: sharded((shard) => typeShard(owner, type, shard)), indexed: true };
}

function eventShard(owner: ViewOwner, shard: number): string {
  return `${ViewsRow.event}${owned(owner)}#${shard}`;
}

function typeShard(owner: ViewOwner, type: PublicEventType, shard: number): string {
  return `${ViewsRow.event}${owned(owner)}#${type}#${shard}`;
}

// ------------------------------------------------------------------------------------------------------------- entries

export function entrySortKey({
  occurredAtMs,
  paymentId,
  sequence,
}: {
  readonly occurredAtMs: number;
  readonly paymentId: PaymentId;
  readonly sequence: number;
}): string {
  return timeSortKey(occurredAtMs, `${paymentId}#${sequenceDigits(sequence)}`);
}

export function bookPartition(owner: ViewOwner, book: Account | 'all', paymentId: PaymentId): string {
  return bookShard(owner, book, listShardOf(paymentId));
}

export function entryList(owner: ViewOwner, book: Account | 'all'): ViewList {
  return { partitions: sharded((shard) => bookShard(owner, book, shard)) };
}

function bookShard(owner: ViewOwner, book: Account | 'all', shard: number): string {
  return `${ViewsRow.book}${owned(owner)}#${book}#${shard}`;
}

/** One row for each day that is closed or being closed. Payments do not update these rows, so none of them is hot. */
export function totalsPartition(owner: ViewOwner): string {
  return `${ViewsRow.total}${owned(owner)}`;
}

export function totalKey(owner: ViewOwner, dayMs: number): ViewKey {
  return { partition: totalsPartition(owner), sort: timeSortKey(dayMs) };
}

// ---------------------------------------------------------------------------------------------------------------- other

/** Every event, public or not, has a row that marks it as projected. */
export function projectedKey(chainId: ChainId, sequence: number): ViewKey {
  return { partition: `${ViewsRow.projected}${chainId}`, sort: sequenceDigits(sequence) };
}

/**
 * The partition of all owners' mismatches, used to count and recheck them. It is not sharded, because mismatches are
 * few.
 */
export const ALL_MISMATCHES = ViewsRow.allMismatches;

/** The partition of all payments and orders in review. It is not sharded, because they are few. */
export const REVIEWS = ViewsRow.reviews;

/** Without an owner, returns the partition of the mismatches about charges that have no known payment. */
export function mismatchPartition(owner: ViewOwner | undefined): string {
  return owner === undefined ? ViewsRow.mismatch : `${ViewsRow.mismatch}${owned(owner)}`;
}

/**
 * Returns whether the row results from comparing the Ledger with a processor. A rebuild keeps such a row, because it
 * cannot be derived from the Ledger alone.
 */
export function isOfComparison({ partition }: Pick<ViewKey, 'partition'>): boolean {
  return partition === ALL_MISMATCHES || partition.startsWith(ViewsRow.mismatch);
}

// ----------------------------------------------------------------------------------------------------------- sort keys

/** Bounds that sort before and after all sort keys of a partition. */
export const FIRST_SORT_KEY = '0';
export const LAST_SORT_KEY = ':';

/** Unix milliseconds; NaN if the sort key contains no time. */
export function timeOf(place: string): number {
  return Number(place.slice(0, TIME_DIGITS));
}

export function idOf(place: string): string {
  return place.slice(TIME_DIGITS + 1);
}

function sequenceDigits(sequence: number): string {
  return String(sequence).padStart(6, '0');
}
