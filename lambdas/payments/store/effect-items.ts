import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import type { OrphanedCallback } from '../use/effect-store.ts';
import type { ChargeToReturn, Inquiry } from '../use/payment-store.ts';
import { type Item, operationOfKey, recordKey, shardOf } from './items.ts';

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

// ---------------------------------------------------------------------------------------------------------------- orphans

/** Orphans are rare; a flood of them still spreads. */
export const ORPHAN_SHARDS = 4;
/** Milliseconds since 1970 have 13 digits until the year 2286. */
const TIME_DIGITS = 13;

const orphanItem = z.object({
  operationId: z.string().transform((id) => id as OperationId),
  event: z.object({
    processorName: z.string(),
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
});

export function waitingOrphansPartition(shard: number): string {
  return `${RegistryRow.orphan}${shard}`;
}

export function waitingOrphanKey(orphan: OrphanedCallback): Item {
  return keyOf(waitingOrphansPartition(orphanShard(orphan)), orphan);
}

/** Given up: nothing tries it any more, and nothing forgets it. */
export function keptOrphanKey(orphan: OrphanedCallback): Item {
  return keyOf(`${RegistryRow.keptOrphan}${orphanShard(orphan)}`, orphan);
}

function orphanShard({ operationId }: OrphanedCallback): number {
  return shardOf(operationId) % ORPHAN_SHARDS;
}

function keyOf(partition: string, { receivedAtMs, operationId }: OrphanedCallback): Item {
  const time = String(receivedAtMs).padStart(TIME_DIGITS, '0');
  return { [KeyAttribute.partition]: partition, [KeyAttribute.sort]: `${time}#${operationId}` };
}

export function orphanAttributes({ operationId, event, reason, receivedAtMs }: OrphanedCallback): Item {
  return { operationId, event, reason, receivedAtMs };
}

export function parseOrphan(item: Item): OrphanedCallback {
  return orphanItem.parse(item);
}

// --------------------------------------------------------------------------------------------------- unfinished work

/** Both queues are short on a good day and wide on a bad one. */
export const QUEUE_SHARDS = 4;

const chargeToReturnItem = z.object({
  paymentId: z.string().transform((id) => id as PaymentId),
  chargeId: z.string(),
  by: z.enum(['refund', 'void']),
  amountMinor: z.int().min(1),
  currency: z.string(),
  foundAtMs: z.int(),
});

export function returnsPartition(shard: number): string {
  return `${RegistryRow.return}${shard}`;
}

export function chargeToReturnKey({ paymentId, chargeId }: ChargeToReturn): Item {
  return {
    [KeyAttribute.partition]: returnsPartition(shardOf(paymentId) % QUEUE_SHARDS),
    [KeyAttribute.sort]: `${paymentId}#${chargeId}`,
  };
}

export function chargeToReturnRow(charge: ChargeToReturn): Item {
  return { ...chargeToReturnKey(charge), ...charge };
}

export function parseChargeToReturn(item: Item): ChargeToReturn {
  return chargeToReturnItem.parse(item);
}

const inquiryItem = z.object({
  operationId: z.string().transform((id) => id as OperationId),
  paymentId: z.string().transform((id) => id as PaymentId),
  claimedAtMs: z.int(),
  waitsFor: z.literal('payer').exactOptional(),
});

export function inquiriesPartition(shard: number): string {
  return `${RegistryRow.inquiry}${shard}`;
}

export function inquiryKey({ operationId }: Inquiry): Item {
  return {
    [KeyAttribute.partition]: inquiriesPartition(shardOf(operationId) % QUEUE_SHARDS),
    [KeyAttribute.sort]: operationId,
  };
}

export function inquiryRow(inquiry: Inquiry): Item {
  return { ...inquiryKey(inquiry), ...inquiry };
}

export function parseInquiry(item: Item): Inquiry {
  return inquiryItem.parse(item);
}
