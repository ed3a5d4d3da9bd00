import { OperationPrefix, RegistryRow } from '../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute, RegistryTable } from '../kernel/contract/tables.ts';
import { defined } from '../kernel/defined.ts';
import type { Item } from '../kernel/platform/items.ts';
import type { IdempotencyRecord } from '../once/domain/idempotency.ts';
import { rowOfCompleted, rowOfEffect, rowOfOpen } from '../once/store/postgres-record-rows.ts';
import { operationOfKey, parseEffectRecord, parseRecord } from '../once/store/record-items.ts';
import { parseApproval } from '../operators/store/approval-items.ts';
import { approvalRow, endRow } from '../operators/store/postgres-approvals.ts';
import { parseReferenceHolder } from '../payments/store/items.ts';
import { type Queued, rowOfOrphan, workRowsOf } from '../payments/store/postgres-rows.ts';
import {
  HOLDS,
  parseChargeToReturn,
  parseInquiry,
  parseOpenOrder,
  parseOrphan,
} from '../payments/store/queue-items.ts';
import { timestamp } from '../postgres/values.ts';
import { KEY_OF_CORRECTION } from './contract.ts';
import { chainOf } from './sharded-stores.ts';
import type { ImportedTable } from './store/postgres-imported-tables.ts';

/** Converts rows of the tables Idempotency and Registry, except personal data, to PostgreSQL rows. */

export interface ImportedRow {
  readonly table: ImportedTable;
  readonly row: Readonly<Record<string, unknown>>;
  /** The payment or order to which the row belongs. It determines the database. @default the first database */
  readonly chainId?: string;
}

/**
 * By kind of operation, whether its records are stored in the same database as payments. All other records stay in
 * DynamoDB, like the effects that they record.
 */
const WITH_PAYMENTS: Readonly<Record<keyof typeof OperationPrefix, boolean>> = {
  charge: true,
  capture: true,
  cancel: true,
  refund: true,
  return: true,
  order: true,
  inquiry: true,
  adoption: true,
  correction: true,
  decision: true,
  annotation: true,
  approval: true,
  changeRequest: true,
  callback: true,
  keyRequest: false,
  limitRequest: false,
  redrive: false,
  businessKey: false,
  acceptedRun: false,
  askedRun: false,
  webhookRequest: false,
};

const MOVED_PREFIXES = Object.entries(OperationPrefix).flatMap(([kind, prefix]) =>
  WITH_PAYMENTS[kind as keyof typeof OperationPrefix] ? [prefix] : [],
);

/**
 * @returns none if the operation stays in DynamoDB
 * @throws if the record is unreadable
 */
export function rowsOfRecord(item: Item): readonly ImportedRow[] {
  const operationId = operationOfKey(String(item[IdempotencyTable.partitionKey]));
  if (!MOVED_PREFIXES.some((prefix) => operationId.startsWith(prefix))) return [];
  if ('claimedAtMs' in item) {
    const record = parseRecord(item);
    return [{ table: 'idempotency', row: rowOfClaim(record, item), ...ofChain(chainOf(record)) }];
  }
  const record = parseEffectRecord(item);
  return [{ table: 'idempotency', row: { ...rowOfEffect(record) }, ...ofChain(chainOf(record)) }];
}

function rowOfClaim(record: IdempotencyRecord, item: Item): ImportedRow['row'] {
  if (record.status === 'COMPLETED') return { ...rowOfCompleted(record) };
  return { ...rowOfOpen(record), ...dueAt(item, IdempotencyTable.openClaimsIndex.sortKey) };
}

function ofChain(chainId: string | undefined): Pick<ImportedRow, 'chainId'> {
  return defined({ chainId });
}

/**
 * Returns the row that binds the idempotency key of a correction to its payment, for a deployment with several
 * databases. `refusedKey` in sharded-stores.ts describes the reason.
 */
export function bindingOf({ table, row }: ImportedRow): readonly ImportedRow[] {
  const operationId = String(row['operation_id']);
  if (table !== 'idempotency' || !operationId.startsWith(OperationPrefix.correction)) return [];
  return [{ table, row: { ...row, operation_id: `${operationId}${KEY_OF_CORRECTION}` } }];
}

/**
 * @returns none if the item stays in DynamoDB
 * @throws if the item is unreadable
 */
export function rowsOfRegistry(item: Item): readonly ImportedRow[] {
  const partition = String(item[KeyAttribute.partition]);
  const [, rowsOf] = KINDS.find(([prefix]) => partition.startsWith(prefix)) ?? [];
  return rowsOf?.(item) ?? [];
}

const KINDS: readonly (readonly [prefix: string, rowsOf: (item: Item) => readonly ImportedRow[]])[] = [
  [RegistryRow.inquiry, (item) => workOf(item, { inquiries: [parseInquiry(item)] })],
  [RegistryRow.return, (item) => workOf(item, { toReturn: [parseChargeToReturn(item)] })],
  [RegistryRow.hold, (item) => workOf(item, { hold: HOLDS.parse(item) })],
  [RegistryRow.openOrder, (item) => workOf(item, { reopened: parseOpenOrder(item) })],
  [RegistryRow.orphan, (item) => [{ table: 'orphan', row: { ...rowOfOrphan(parseOrphan(item)), ...queuedAt(item) } }]],
  [RegistryRow.keptOrphan, keptOrphan],
  [
    RegistryRow.reference,
    (item) => [{ table: 'reference', row: referenceRow(item), chainId: parseReferenceHolder(item) }],
  ],
  [RegistryRow.approvals, approvalRows],
];

function workOf(item: Item, queued: Queued): readonly ImportedRow[] {
  return workRowsOf(queued).map((row) => ({
    table: 'work',
    row: { ...row, ...queuedAt(item) },
    chainId: String(row['chain_id']),
  }));
}

/** Omits the due time, because no job reads such an orphan. */
function keptOrphan(item: Item): readonly ImportedRow[] {
  const { due_at: _, ...row } = rowOfOrphan(parseOrphan(item));
  return [{ table: 'orphan', row }];
}

/** The partition key is `REF#<tenant>#<mode>#<reference>`, and a reference may contain `#`. */
function referenceRow(item: Item): ImportedRow['row'] {
  const [tenant, mode, ...reference] = String(item[KeyAttribute.partition])
    .slice(RegistryRow.reference.length)
    .split('#');
  return { tenant_id: tenant, mode, reference: reference.join('#'), payment_id: parseReferenceHolder(item) };
}

function approvalRows(item: Item): readonly ImportedRow[] {
  const { end, ...approval } = parseApproval(item);
  const { paymentId: chainId } = approval;
  const asked: ImportedRow = { table: 'approval', row: approvalRow(approval), chainId };
  if (end === undefined) return [asked];
  return [asked, { table: 'approval_end', row: endRow({ id: approval.id, end }), chainId }];
}

/** Returns the due time of an entry as stored, because a job may have postponed it. */
function queuedAt(item: Item): ImportedRow['row'] {
  return dueAt(item, RegistryTable.queuesIndex.sortKey);
}

function dueAt(item: Item, attribute: string): ImportedRow['row'] {
  const dueAtMs = item[attribute];
  return typeof dueAtMs === 'number' ? { due_at: timestamp(dueAtMs) } : {};
}
