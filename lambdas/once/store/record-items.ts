import * as z from 'zod';
import { IdempotencyRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable } from '../../kernel/contract/tables.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import { type Item, shardOf } from '../../kernel/platform/items.ts';
import type { CompletedRecord, EffectRecord, IdempotencyRecord, OpenRecord } from '../domain/idempotency.ts';

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

/** Only an open record has the attribute of the open-claims index. The completing write removes it. */
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

// --------------------------------------------------------------------------------------------------------- effect records

const effectItem = z.object({
  [IdempotencyTable.partitionKey]: z.string(),
  status: z.literal('COMPLETED'),
  paymentId: z.string().exactOptional(),
  owner: z.string(),
  recordedAtMs: z.int(),
  fingerprint: z.instanceof(Uint8Array).exactOptional(),
  fingerprintVersion: z.int().exactOptional(),
  answer: z.object({ status: z.int(), headers: z.record(z.string(), z.string()), body: z.string() }).exactOptional(),
  [IdempotencyTable.timeToLiveAttribute]: z.int().exactOptional(),
});

export function effectRecordItem({
  operationId,
  paymentId,
  owner,
  recordedAtMs,
  request,
  expiresAtSeconds,
}: EffectRecord): Item {
  return {
    ...recordKey(operationId),
    status: 'COMPLETED',
    ...(paymentId === undefined ? {} : { paymentId }),
    owner,
    recordedAtMs,
    ...(request === undefined
      ? {}
      : {
          fingerprint: request.fingerprint.sha256,
          fingerprintVersion: request.fingerprint.version,
          answer: request.answer,
        }),
    ...(expiresAtSeconds === undefined ? {} : { [IdempotencyTable.timeToLiveAttribute]: expiresAtSeconds }),
  };
}

export function parseEffectRecord(item: Item): EffectRecord {
  const { pk, paymentId, owner, recordedAtMs, fingerprint, fingerprintVersion, answer, expiresAt } =
    effectItem.parse(item);
  const asked = fingerprint !== undefined && fingerprintVersion !== undefined && answer !== undefined;
  return {
    operationId: operationOfKey(pk),
    ...(paymentId === undefined ? {} : { paymentId: paymentId as PaymentId }),
    owner: owner as OwnerToken,
    recordedAtMs,
    ...(asked ? { request: { fingerprint: { version: fingerprintVersion, sha256: fingerprint }, answer } } : {}),
    ...(expiresAt === undefined ? {} : { expiresAtSeconds: expiresAt }),
  };
}
