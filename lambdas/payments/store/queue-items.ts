import * as z from 'zod';
import { QueueRow, RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import { dueSort, postponedSort } from '../../kernel/due-sort.ts';
import type { OperationId, OrderId, PaymentId } from '../../kernel/ids.ts';
import { firstLookUpMs } from '../../kernel/looks.ts';
import { type Item, itemSchema, shardOf } from '../../kernel/platform/items.ts';
import { type DueRows, type Queue, queuedFor, queuedForOperator } from '../../kernel/platform/queue-rows.ts';
import { mostShards, shardsAt } from '../../kernel/platform/shards.ts';

import type { StoreTables, TransactItem } from '../../once/store/transact-items.ts';
import { type CallbackEvent, FOREIGN_KEPT_DAYS, type OrphanedCallback, orphanSchedule } from '../use/effect-store.ts';
import {
  type ChargeToReturn,
  type Hold,
  type Inquiry,
  inquirySchedule,
  inquirySubject,
  isRoutine,
  type OpenOrder,
  orderSchedule,
  returnSchedule,
} from '../use/payment-store.ts';

/** The queues of unfinished work. Most entries are written in the transaction that causes the work. */

// ---------------------------------------------------------------------------------------------------------------- orphans

/** Orphans are rare, but many can arrive at once, and the shards spread their writes. */
export const ORPHAN_SHARDS = 4;
/** Number of digits of a time in a sort key. Unix milliseconds have 13 digits until the year 2286. */
const TIME_DIGITS = 13;

const DAY_SECONDS = 86_400;

const orphanItem = z.lazy(() =>
  itemSchema<OrphanedCallback>()({
    operationId: z.string().transform((id) => id as OperationId),
    event: itemSchema<CallbackEvent>()({
      processorName: z.string(),
      mode: z.enum(['test', 'live']),
      eventId: z.string(),
      type: z.string(),
      chargeId: z.string(),
      paymentId: z
        .string()
        .transform((id) => id as PaymentId)
        .exactOptional(),
    }),
    reason: z.enum(['charge_unknown', 'payment_unknown', 'other_account']),
    receivedAtMs: z.int(),
    isForeign: z.boolean().exactOptional(),
  }),
);

function waitingOrphansPartition(shard: number): string {
  return `${RegistryRow.orphan}${shard}`;
}

export function waitingOrphanKey(orphan: OrphanedCallback): Item {
  return keyOf(waitingOrphansPartition(orphanShard(orphan)), orphan);
}

/**
 * Prefix of the sort keys of kept orphans that another program caused. All other sort keys begin with a digit. The
 * prefix therefore sorts these orphans last, so that they do not hide orphans that need an operator.
 */
export const FOREIGN_SORT = 'foreign#';

/** Returns the key of the row that keeps an orphan for operators after its retries have ended. */
export function keptOrphanKey(orphan: OrphanedCallback): Item {
  const key = keyOf(`${RegistryRow.keptOrphan}${orphanShard(orphan)}`, orphan);
  const { sort } = KeyAttribute;
  return orphan.isForeign === true ? { ...key, [sort]: `${FOREIGN_SORT}${String(key[sort])}` } : key;
}

export function keptOrphanRow(orphan: OrphanedCallback): Item {
  const row = { ...keptOrphanKey(orphan), ...orphan };
  if (orphan.isForeign !== true) return row;
  const expiresAtSeconds = Math.ceil(orphan.receivedAtMs / 1000) + FOREIGN_KEPT_DAYS * DAY_SECONDS;
  return { ...row, [IdempotencyTable.timeToLiveAttribute]: expiresAtSeconds };
}

function orphanShard({ operationId }: OrphanedCallback): number {
  return shardOf(operationId, ORPHAN_SHARDS);
}

function keyOf(partition: string, { receivedAtMs, operationId }: OrphanedCallback): Item {
  const time = String(receivedAtMs).padStart(TIME_DIGITS, '0');
  return { [KeyAttribute.partition]: partition, [KeyAttribute.sort]: `${time}#${operationId}` };
}

export function waitingOrphanRow(orphan: OrphanedCallback): Item {
  return { ...waitingOrphanKey(orphan), ...orphan, ...orphanQueued(orphan, firstLookUpMs(orphanSchedule(orphan))) };
}

export function orphanQueued({ operationId, isForeign }: OrphanedCallback, dueAtMs: number): Item {
  return queuedFor(isForeign === true ? QueueRow.foreignOrphan : QueueRow.orphan, operationId, dueAtMs);
}

export function parseOrphan(item: Item): OrphanedCallback {
  return orphanItem.parse(item);
}

// --------------------------------------------------------------------------------------------------- unfinished work

const chargeToReturnItem = z.lazy(() =>
  itemSchema<ChargeToReturn>()({
    paymentId: z.string().transform((id) => id as PaymentId),
    chargeId: z.string(),
    by: z.enum(['refund', 'void']),
    foundAtMs: z.int(),
    undecidable: z.boolean().exactOptional(),
    seen: z.int().exactOptional(),
  }),
);

/** A charge that must be reversed is rare, because it contradicts the outcome of its payment. */
export const RETURN_SHARDS = 8;

function returnsPartition(shard: number): string {
  return `${RegistryRow.return}${shard}`;
}

export function chargeToReturnKey({ paymentId, chargeId }: ChargeToReturn): Item {
  return {
    [KeyAttribute.partition]: returnsPartition(shardOf(paymentId, RETURN_SHARDS)),
    [KeyAttribute.sort]: `${paymentId}#${chargeId}`,
  };
}

/**
 * If a charge was found authorized and is captured later, it still has only one entry, because the later write replaces
 * the entry.
 */
export function returnItem({ registry }: StoreTables, charge: ChargeToReturn): TransactItem {
  const queued = returnQueued(charge, firstLookUpMs(returnSchedule(charge)));
  return { Put: { TableName: registry, Item: { ...chargeToReturnKey(charge), ...charge, ...queued } } };
}

export function returnQueued({ paymentId, undecidable }: ChargeToReturn, dueAtMs: number): Item {
  if (undecidable === true) return queuedForOperator(QueueRow.return, dueAtMs);
  return queuedFor(QueueRow.return, paymentId, dueAtMs);
}

export function parseChargeToReturn(item: Item): ChargeToReturn {
  return chargeToReturnItem.parse(item);
}

const inquiryFields = z.lazy(() =>
  itemSchema<Inquiry>()({
    operationId: z.string().transform((id) => id as OperationId),
    paymentId: z.string().transform((id) => id as PaymentId),
    claimedAtMs: z.int(),
    waitsFor: z.enum(['payer', 'bank', 'books']).exactOptional(),
    undecidable: z.boolean().exactOptional(),
    seen: z.int().exactOptional(),
  }),
);

function inquiriesPartition(shard: number): string {
  return `${RegistryRow.inquiry}${shard}`;
}

/**
 * An inquiry with `books` as its `waitsFor` reads all charges of a payment. Its entry is separate from the entries of
 * inquiries about single charges, and is deleted independently of them.
 */
export function inquiryKey(inquiry: Inquiry): Item {
  const { paymentId, claimedAtMs } = inquiry;
  return {
    [KeyAttribute.partition]: inquiriesPartition(shardOf(paymentId, shardsAt(claimedAtMs).queues)),
    [KeyAttribute.sort]: `${paymentId}#${inquirySubject(inquiry)}`,
  };
}

export function inquiryItem({ registry }: StoreTables, inquiry: Inquiry): TransactItem {
  const queued = inquiryQueueAttributes(inquiry, firstLookUpMs(inquirySchedule(inquiry)));
  return { Put: { TableName: registry, Item: { ...inquiryKey(inquiry), ...inquiry, ...queued } } };
}

/**
 * Inquiries that wait for a payer or a bank, and inquiries that wait for an operator, have separate queues, so that
 * they do not delay other inquiries.
 */
export function inquiryQueueAttributes(inquiry: Inquiry, dueAtMs: number): Item {
  const { unknownOutcome, routineInquiry, undecidable } = QueueRow;
  if (inquiry.undecidable === true) return queuedForOperator(undecidable, dueAtMs);
  return queuedFor(isRoutine(inquiry) ? routineInquiry : unknownOutcome, inquiry.paymentId, dueAtMs);
}

export function parseInquiry(item: Item): Inquiry {
  return inquiryFields.parse(item);
}

const holdFields = z.lazy(() =>
  itemSchema<Hold>()({
    paymentId: z.string().transform((id) => id as PaymentId),
    authorizedAtMs: z.int(),
    dueAtMs: z.int().exactOptional(),
    undecidable: z.boolean().exactOptional(),
  }),
);

export const HOLDS: DueRows<Hold> = {
  partition: (shard) => `${RegistryRow.hold}${shard}`,
  shards: () => mostShards().queues,
  keyOf: ({ paymentId, authorizedAtMs, dueAtMs }) => ({
    [KeyAttribute.partition]: HOLDS.partition(shardOf(paymentId, shardsAt(authorizedAtMs).queues)),
    [KeyAttribute.sort]: dueAtMs === undefined ? dueSort(authorizedAtMs, paymentId) : postponedSort(dueAtMs, paymentId),
  }),
  indexed: ({ dueAtMs, undecidable }) =>
    undecidable === true && dueAtMs !== undefined ? queuedForOperator(QueueRow.hold, dueAtMs) : {},
  parse: (item) => holdFields.parse(item),
};

export function holdItem({ registry }: StoreTables, hold: Hold): TransactItem {
  return { Put: { TableName: registry, Item: { ...HOLDS.keyOf(hold), ...hold, ...HOLDS.indexed?.(hold) } } };
}

// ------------------------------------------------------------------------------------------------------------ open orders

const openOrderItem = z.lazy(() =>
  itemSchema<OpenOrder>()({
    orderId: z.string().transform((id) => id as OrderId),
    createdAtMs: z.int(),
    sequence: z.int().min(1),
  }),
);

function openOrdersPartition(shard: number): string {
  return `${RegistryRow.openOrder}${shard}`;
}

export function openOrderKey({ orderId: id, createdAtMs }: Pick<OpenOrder, 'orderId' | 'createdAtMs'>): Item {
  return {
    [KeyAttribute.partition]: openOrdersPartition(shardOf(id, shardsAt(createdAtMs).queues)),
    [KeyAttribute.sort]: id,
  };
}

export function openOrderRow(open: OpenOrder): Item {
  return { ...openOrderKey(open), ...open, ...openOrderQueued(open, firstLookUpMs(orderSchedule(open))) };
}

export function openOrderQueued({ orderId }: Pick<OpenOrder, 'orderId'>, dueAtMs: number): Item {
  return queuedFor(QueueRow.openOrder, orderId, dueAtMs);
}

export function parseOpenOrder(item: Item): OpenOrder {
  return openOrderItem.parse(item);
}

// ------------------------------------------------------------------------------------------------------------- reading

export const UNKNOWN_OUTCOMES: Queue<Inquiry> = { of: [QueueRow.unknownOutcome], parse: parseInquiry };
export const ROUTINE_INQUIRIES: Queue<Inquiry> = {
  of: [QueueRow.routineInquiry, QueueRow.undecidable],
  parse: parseInquiry,
};
/** The queues of inquiries whose entries the metrics count. */
export const COUNTED_INQUIRIES: Queue<Inquiry> = {
  of: [QueueRow.unknownOutcome, QueueRow.undecidable],
  parse: parseInquiry,
};
export const RETURNS: Queue<ChargeToReturn> = { of: [QueueRow.return], parse: parseChargeToReturn };
export const OPEN_ORDERS: Queue<OpenOrder> = { of: [QueueRow.openOrder], parse: parseOpenOrder };
export const ORPHANS: Queue<OrphanedCallback> = { of: [QueueRow.orphan], parse: parseOrphan };
export const FOREIGN_ORPHANS: Queue<OrphanedCallback> = { of: [QueueRow.foreignOrphan], parse: parseOrphan };
