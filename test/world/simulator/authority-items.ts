/**
 * Converts PostgreSQL rows into the items that DynamoDB would contain if it were the authority, so that the oracles can
 * read either authority.
 */
import { IdempotencyRow, OperationPrefix, RegistryRow } from '../../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute } from '../../../lambdas/kernel/contract/tables.ts';
import { invariant } from '../../../lambdas/kernel/invariant.ts';
import { detailsKey } from '../../../lambdas/once/store/details-rows.ts';
import { parseEffectRow, parseRecordRow } from '../../../lambdas/once/store/postgres-record-rows.ts';
import { effectRecordItem, openRecordItem, toRecordItem } from '../../../lambdas/once/store/record-items.ts';
import { approvalPlace } from '../../../lambdas/operators/domain/approval.ts';
import { orderTransitionRow, parseOrderTransition } from '../../../lambdas/orders/store/order-items.ts';
import { type ChainId, isOrderId } from '../../../lambdas/payments/ids.ts';
import { referenceRowKey, transitionRow } from '../../../lambdas/payments/store/items.ts';
import {
  bodyItem,
  parseHoldRow,
  parseInquiryRow,
  parseOrphanRow,
  parseReturnRow,
  parseTransitionRow,
  storedOfRow,
} from '../../../lambdas/payments/store/postgres-rows.ts';
import {
  chargeToReturnKey,
  HOLDS,
  inquiryKey,
  inquiryQueueAttributes,
  keptOrphanKey,
  openOrderKey,
  openOrderQueued,
  orphanQueued,
  returnQueued,
  waitingOrphanKey,
} from '../../../lambdas/payments/store/queue-items.ts';
import type { OpenOrder, ReferenceName } from '../../../lambdas/payments/use/payment-store.ts';
import type { Item } from '../dynamodb-values.ts';
import type { RowChange } from '../memory-dynamodb.ts';
import { TABLES } from '../tables.ts';

type Row = Readonly<Record<string, unknown>>;

interface Placed {
  readonly table: string;
  readonly item: Item;
}

/** Change of a PostgreSQL row, in the format of `row_to_json`. */
export interface PostgresChange {
  readonly of: string;
  readonly before: Row | null;
  readonly after: Row | null;
}

const placed = (table: string, item: object): Placed => ({ table, item: item as Item });
const registry = (item: object): Placed => placed(TABLES.registry, item);

/** A function returns undefined if DynamoDB has no item for the row. */
const ITEMS: Readonly<Record<string, (row: Row) => Placed | undefined>> = {
  idempotency: (row) => placed(TABLES.idempotency, recordItemOf(row)),
  transition: (row) => {
    const text = { ...row, body: JSON.stringify(row['body']) };
    const isOrder = isOrderId(row['chain_id'] as ChainId);
    return placed(
      TABLES.ledger,
      isOrder ? orderTransitionRow(parseOrderTransition(storedOfRow(text))) : transitionRow(parseTransitionRow(text)),
    );
  },
  reference: ({ tenant_id: tenantId, mode, reference, payment_id: paymentId }) =>
    registry({ ...referenceRowKey({ tenantId, mode, reference } as ReferenceName), paymentId }),
  details: ({ chain_id: id, part, salt, details }) =>
    registry({ ...detailsKey(String(id), String(part)), salt: new Uint8Array(salt as Buffer), details }),
  work: (row) => workItemOf(row),
  orphan: (row) => {
    const orphan = parseOrphanRow(row);
    const dueAt = row['due_at'] as Date | null;
    return dueAt === null
      ? registry({ ...keptOrphanKey(orphan), ...orphan })
      : registry({ ...waitingOrphanKey(orphan), ...orphan, ...orphanQueued(orphan, dueAt.getTime()) });
  },
  approval: ({ approval_id: id, body }) =>
    registry({
      [KeyAttribute.partition]: RegistryRow.approvals,
      [KeyAttribute.sort]: approvalPlace(String(id)),
      ...bodyItem(JSON.stringify(body)),
    }),
};

function recordItemOf(row: Row): object {
  if (row['recorded_at'] !== null) return effectRecordItem(parseEffectRow(row));
  const record = parseRecordRow(row);
  if (record.status === 'COMPLETED') return toRecordItem(record);
  const dueAt = row['due_at'] as Date;
  return { ...openRecordItem(record), [IdempotencyTable.openClaimsIndex.sortKey]: dueAt.getTime() };
}

function workItemOf(row: Row): Placed {
  const dueAtMs = (row['due_at'] as Date).getTime();
  switch (row['kind']) {
    case 'inquiry': {
      const inquiry = parseInquiryRow(row);
      return registry({ ...inquiryKey(inquiry), ...inquiry, ...inquiryQueueAttributes(inquiry, dueAtMs) });
    }
    case 'return': {
      const charge = parseReturnRow(row);
      return registry({ ...chargeToReturnKey(charge), ...charge, ...returnQueued(charge, dueAtMs) });
    }
    case 'hold': {
      const hold = parseHoldRow(row);
      return registry({ ...HOLDS.keyOf(hold), ...hold });
    }
    default: {
      const { chain_id: orderId, since, version: sequence } = row;
      const open = { orderId, createdAtMs: (since as Date).getTime(), sequence } as OpenOrder;
      return registry({ ...openOrderKey(open), ...open, ...openOrderQueued(open, dueAtMs) });
    }
  }
}

/** The JSON contains a time as text. */
const TIME = /^(?:.+_at|since|response_until)$/;
/** Names of columns with bytes, which the JSON contains in hexadecimal. */
const BYTES: ReadonlySet<string> = new Set(['fingerprint', 'prev_hash', 'hash', 'salt']);

function valuesOfJson(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      if (typeof value !== 'string') return [column, value];
      if (TIME.test(column)) return [column, new Date(value)];
      return [column, BYTES.has(column) ? Buffer.from(value.slice(2), 'hex') : value];
    }),
  );
}

export class AuthorityItems {
  /** The result of an approval is written as a row of a different table. */
  readonly #approvals = new Map<string, Placed>();

  changesOf({ of, before, after }: PostgresChange): readonly RowChange[] {
    if (of === 'approval_end') return this.#ended(after);
    const itemOf = ITEMS[of];
    if (itemOf === undefined) return [];
    const [left, right] = [before, after].map((row) => (row === null ? undefined : itemOf(valuesOfJson(row))));
    if (of === 'approval' && right !== undefined) this.#approvals.set(String(after?.['approval_id']), right);
    const isMoved = left !== undefined && right !== undefined && keyOf(left) !== keyOf(right);
    if (isMoved) return [...changeOf(left, undefined), ...changeOf(undefined, right)];
    return changeOf(left, right);
  }

  #ended(row: Row | null): readonly RowChange[] {
    const approval = this.#approvals.get(String(row?.['approval_id']));
    invariant(approval !== undefined, 'the end of an approval was written without the approval');
    return changeOf(approval, placed(approval.table, { ...approval.item, end: row?.['body'] }));
  }
}

function keyOf({ table, item }: Placed): string {
  const { [KeyAttribute.partition]: partition, [KeyAttribute.sort]: sort } = item;
  return JSON.stringify([table, partition, sort]);
}

function changeOf(before: Placed | undefined, after: Placed | undefined): readonly RowChange[] {
  const table = (after ?? before)?.table;
  if (table === undefined) return [];
  return [
    {
      table,
      ...(before === undefined ? {} : { before: before.item }),
      ...(after === undefined ? {} : { after: after.item }),
    },
  ];
}

export function partitionOf(item: Item | undefined): string {
  const partition = item?.[KeyAttribute.partition];
  return typeof partition === 'string' ? partition : '';
}

/** Stored in PostgreSQL if it is the authority. */
const OWN_REGISTRY: readonly string[] = [
  RegistryRow.reference,
  RegistryRow.approvals,
  RegistryRow.return,
  RegistryRow.inquiry,
  RegistryRow.openOrder,
  RegistryRow.hold,
  RegistryRow.orphan,
  RegistryRow.keptOrphan,
];

/** Stored in PostgreSQL if it is the authority. */
const OWN_OPERATIONS: readonly string[] = [
  OperationPrefix.charge,
  OperationPrefix.capture,
  OperationPrefix.cancel,
  OperationPrefix.refund,
  OperationPrefix.return,
  OperationPrefix.order,
  OperationPrefix.inquiry,
  OperationPrefix.adoption,
  OperationPrefix.correction,
  OperationPrefix.decision,
  OperationPrefix.annotation,
  OperationPrefix.approval,
  OperationPrefix.callback,
].map((prefix) => `${IdempotencyRow.record}${prefix}`);

/** Must not occur in DynamoDB if PostgreSQL is the authority. */
const OF_AUTHORITY: Readonly<Record<string, readonly string[]>> = {
  [TABLES.registry]: OWN_REGISTRY,
  [TABLES.idempotency]: OWN_OPERATIONS,
};

export function isOfAuthority({ table, before, after }: RowChange): boolean {
  const partition = partitionOf(after ?? before);
  return OF_AUTHORITY[table]?.some((prefix) => partition.startsWith(prefix)) ?? false;
}
