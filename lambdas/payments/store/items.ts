import * as z from 'zod';
import { IdempotencyRow, LedgerRow, RegistryRow, SortKey } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, INDEX_SHARDS, KeyAttribute, LedgerTable } from '../../kernel/contract/tables.ts';
import type { OperationId, OwnerToken, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { CompletedRecord, IdempotencyRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import { CANCEL_REASONS, PAYMENT_STATUSES, PENDING_TYPES, TRANSITION_TYPES } from '../domain/payment.ts';
import { ACCOUNTS } from '../domain/posting.ts';
import type { Transition } from '../domain/transition.ts';
import type { ReferenceName } from '../use/payment-store.ts';

/** What the store holds, checked when read: a row that this code cannot understand must never be acted on. */
export type Item = Record<string, unknown>;

// ---------------------------------------------------------------------------------------------------- idempotency records

const bytes = z.instanceof(Uint8Array);
const fingerprintFields = { fingerprint: bytes, fingerprintVersion: z.int() };
const identityFields = {
  [IdempotencyTable.partitionKey]: z.string(),
  paymentId: z.string(),
  owner: z.string(),
  claimedAtMs: z.int(),
  ...fingerprintFields,
};

const recordItem = z.discriminatedUnion('status', [
  z.object({
    ...identityFields,
    status: z.literal('INPROGRESS'),
    leaseExpiresAtMs: z.int(),
    released: z.boolean(),
  }),
  z.object({
    ...identityFields,
    status: z.literal('COMPLETED'),
    answer: z.object({ status: z.int(), headers: z.record(z.string(), z.string()), body: z.string() }),
    [IdempotencyTable.timeToLiveAttribute]: z.int(),
  }),
]);

export function recordKey(operationId: OperationId): Item {
  return { [IdempotencyTable.partitionKey]: `${IdempotencyRow.record}${operationId}` };
}

export function operationOfKey(partition: string): OperationId {
  return partition.slice(IdempotencyRow.record.length) as OperationId;
}

function identityAttributes(record: IdempotencyRecord): Item {
  return {
    ...recordKey(record.operationId),
    paymentId: record.paymentId,
    owner: record.owner,
    claimedAtMs: record.claimedAtMs,
    fingerprint: record.fingerprint.sha256,
    fingerprintVersion: record.fingerprint.version,
    status: record.status,
  };
}

/** Only an open record carries the index's attribute; the completing write takes it away. */
export function openRecordItem(record: OpenRecord): Item {
  return {
    ...identityAttributes(record),
    leaseExpiresAtMs: record.leaseExpiresAtMs,
    released: record.released,
    [IdempotencyTable.openClaimsIndex.partitionKey]: shardOf(record.operationId),
  };
}

export function completedRecordItem(record: CompletedRecord): Item {
  return {
    ...identityAttributes(record),
    answer: record.answer,
    [IdempotencyTable.timeToLiveAttribute]: record.expiresAtSeconds,
  };
}

export function parseRecord(item: Item): IdempotencyRecord {
  const row = recordItem.parse(item);
  const identity = {
    operationId: operationOfKey(row.pk),
    paymentId: row.paymentId as PaymentId,
    owner: row.owner as OwnerToken,
    claimedAtMs: row.claimedAtMs,
    fingerprint: { version: row.fingerprintVersion, sha256: row.fingerprint },
  };
  return row.status === 'INPROGRESS'
    ? { status: row.status, ...identity, leaseExpiresAtMs: row.leaseExpiresAtMs, released: row.released }
    : { status: row.status, ...identity, answer: row.answer, expiresAtSeconds: row.expiresAt };
}

// ------------------------------------------------------------------------------------------------------------ transitions

const minorUnits = z.int().min(0);
const failureItem = z.object({ code: z.string(), message: z.string() });
const paymentItem = z.object({
  id: z.string().transform((id) => id as PaymentId),
  tenantId: z.string().transform((id) => id as TenantId),
  mode: z.enum(['test', 'live']),
  status: z.enum(PAYMENT_STATUSES),
  amountMinor: minorUnits,
  amountCapturedMinor: minorUnits,
  amountRefundedMinor: minorUnits,
  currency: z.string(),
  source: z.string(),
  capture: z.enum(['automatic', 'manual']),
  reference: z.string().exactOptional(),
  processorName: z.string(),
  chargeId: z.string().exactOptional(),
  failure: failureItem.exactOptional(),
  cancelReason: z.enum(CANCEL_REASONS).exactOptional(),
  actionUrl: z.string().exactOptional(),
  feeMinor: minorUnits.exactOptional(),
  createdAtMs: z.int(),
});

const decisionItem = z.object({
  kind: z.literal('decision'),
  decisionId: z.string(),
  reason: z.string(),
  operator: z.string(),
});

/** Left out of what was written before they were. */
const requestFields = {
  request: z.object({ version: z.int(), sha256: z.string() }).exactOptional(),
  answered: z.literal(true).exactOptional(),
};

const subjectItem = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('refund'),
    refundId: z.string(),
    chargeId: z.string(),
    amountMinor: minorUnits,
    status: z.enum(['pending', 'succeeded', 'failed']),
    reason: z.string().exactOptional(),
    failure: failureItem.exactOptional(),
    createdAtMs: z.int().exactOptional(),
    ...requestFields,
    decision: decisionItem.exactOptional(),
  }),
  ...(['capture', 'void'] as const).map((kind) =>
    z.object({
      kind: z.literal(kind),
      operationId: z.string(),
      amountMinor: minorUnits,
      status: z.enum(['pending', 'failed']),
      reason: z.literal('expired').exactOptional(),
      failure: failureItem.exactOptional(),
      ...requestFields,
      decision: decisionItem.exactOptional(),
    }),
  ),
  z.object({
    kind: z.literal('dispute'),
    disputeId: z.string(),
    chargeId: z.string(),
    amountMinor: minorUnits,
    status: z.enum(['open', 'won', 'lost']),
  }),
  z.object({
    kind: z.literal('stray_charge'),
    chargeId: z.string(),
    amountMinor: minorUnits,
    currency: z.string(),
    status: z.enum(['authorized', 'captured']),
  }),
  z.object({
    kind: z.literal('correction'),
    correctionId: z.string(),
    reason: z.string(),
    operator: z.string(),
    reverses: z.int().min(1).exactOptional(),
  }),
  decisionItem,
]);

const transitionItem = z.object({
  sequence: z.int().min(1),
  type: z.enum(TRANSITION_TYPES),
  occurredAtMs: z.int(),
  payment: paymentItem,
  postings: z.array(
    z.object({
      account: z.enum(ACCOUNTS),
      direction: z.enum(['debit', 'credit']),
      amountMinor: minorUnits,
      currency: z.string(),
    }),
  ),
  subject: subjectItem.exactOptional(),
  first: z
    .object({
      description: z.string().exactOptional(),
      metadata: z.record(z.string(), z.string()).exactOptional(),
      requestId: z.string(),
      fingerprint: z.object({ version: z.int(), sha256: bytes }),
      processor: z.object({ account: z.string(), endpoint: z.string(), apiVersion: z.string() }),
    })
    .exactOptional(),
  prevHash: bytes,
  hash: bytes,
});

export function paymentPartition(paymentId: PaymentId): string {
  return `${LedgerRow.payment}${paymentId}`;
}

/** Six digits: text that sorts as the number does, for the million transitions that no payment ever has. */
export function transitionSort(sequence: number): string {
  return `${SortKey.transition}${String(sequence).padStart(6, '0')}`;
}

export function transitionRow(transition: Transition): Item {
  return {
    [KeyAttribute.partition]: paymentPartition(transition.payment.id),
    [KeyAttribute.sort]: transitionSort(transition.sequence),
    ...transition,
    ...(PENDING_TYPES.has(transition.type) ? {} : outcomeAttributes(transition)),
  };
}

function outcomeAttributes({ payment, sequence, occurredAtMs }: Transition): Item {
  const minute = new Date(occurredAtMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length);
  return {
    [LedgerTable.recentOutcomesIndex.partitionKey]: `${shardOf(payment.id)}#${minute}`,
    [LedgerTable.recentOutcomesIndex.sortKey]: `${occurredAtMs}#${payment.id}#${sequence}`,
  };
}

export function parseTransition(item: Item): Transition {
  return transitionItem.parse(item);
}

// ------------------------------------------------------------------------------------------------------------- references

const referenceItem = z.object({ paymentId: z.string() });

export function referenceRowKey({ tenantId, mode, reference }: ReferenceName): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.reference}${tenantId}#${mode}`, [KeyAttribute.sort]: reference };
}

export function parseReferenceHolder(item: Item): PaymentId {
  return referenceItem.parse(item).paymentId as PaymentId;
}

export const BASE32_ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** The last letter of a derived id is five bits of its digest: as good as any other hash, and free. */
export function shardOf(id: string): number {
  return BASE32_ALPHABET.indexOf(id.at(-1) ?? 'a') % INDEX_SHARDS;
}
