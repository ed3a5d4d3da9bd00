import * as z from 'zod';
import type { Answer } from '../../kernel/answer.ts';
import { IdempotencyRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable } from '../../kernel/contract/tables.ts';
import { SEND_WINDOW_SECONDS } from '../../kernel/contract/timing.ts';
import { defined } from '../../kernel/defined.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import { type Item, itemSchema, shardOf } from '../../kernel/platform/items.ts';
import { OPERATOR_SHARD, shardsAt } from '../../kernel/platform/shards.ts';
import type {
  CompletedRecord,
  EarlierOwner,
  EffectRecord,
  IdempotencyRecord,
  NotedCall,
  OpenRecord,
} from '../domain/idempotency.ts';

/**
 * Time after the claim, in milliseconds, during which the resolver leaves a released claim to its caller: one
 * millisecond longer than the send window.
 */
export const RELEASED_MS = SEND_WINDOW_SECONDS * 1000 + 1;

const { partitionKey: KEY, timeToLiveAttribute: EXPIRY, openClaimsIndex } = IdempotencyTable;

export const recordFields = () => ({
  operationId: z.string().transform((id) => id as OperationId),
  owner: z.string().transform((token) => token as OwnerToken),
});
const paymentId = () => z.string().transform((id) => id as PaymentId);
const fingerprint = () => itemSchema<Fingerprint>()({ version: z.int(), sha256: z.instanceof(Uint8Array) });
const answer = () =>
  itemSchema<Answer>()({
    status: z.int(),
    headers: z.record(z.string(), z.string()),
    body: z.string(),
  });
/**
 * Parses the stored calls. They are stored in order, as compact text, for example `send declined mm7d0qo0 eh` for one
 * call: its kind, its result, and its time and duration in milliseconds (base 36). The text is compact, because a
 * record of more than a kilobyte costs a further write unit.
 */
const calls = () => z.string().transform((text) => text.split(',').map(callOf));

function callOf(text: string): NotedCall {
  const [how = '', result = '', at = '', took = ''] = text.split(' ');
  return { do: how === 'look' ? 'look' : 'send', result, atMs: parseInt(at, 36), tookMs: parseInt(took, 36) };
}

export function callsText(noted: readonly NotedCall[]): string {
  return noted.map(textOf).join(',');
}

function textOf({ do: how, result, atMs, tookMs }: NotedCall): string {
  return `${how} ${result.replaceAll(/\W/g, '_')} ${atMs.toString(36)} ${Math.max(0, tookMs).toString(36)}`;
}

const claimFields = () => ({
  ...recordFields(),
  paymentId: paymentId(),
  fingerprint: fingerprint(),
  claimedAtMs: z.int(),
  changedAtMs: z.int().exactOptional(),
  earlier: z
    .array(
      itemSchema<EarlierOwner>()({
        owner: recordFields().owner,
        untilMs: z.int(),
        released: z.literal(true).exactOptional(),
      }),
    )
    .exactOptional(),
});

const recordItem = z.lazy(() =>
  z.discriminatedUnion('status', [
    itemSchema<OpenRecord>()({
      status: z.literal('INPROGRESS'),
      ...claimFields(),
      leaseExpiresAtMs: z.int(),
      released: z.boolean(),
      undecidable: z.boolean().exactOptional(),
    }),
    itemSchema<CompletedRecord>()({
      status: z.literal('COMPLETED'),
      ...claimFields(),
      answer: answer(),
      calls: calls().exactOptional(),
      expiresAtSeconds: z.int(),
    }),
  ]),
);

const effectItem = z.lazy(() =>
  itemSchema<EffectRecord & { readonly status: unknown }>()({
    status: z.literal('COMPLETED'),
    ...recordFields(),
    paymentId: paymentId().exactOptional(),
    recordedAtMs: z.int(),
    request: itemSchema<NonNullable<EffectRecord['request']>>()({
      fingerprint: fingerprint(),
      answer: answer(),
      untilSeconds: z.int().exactOptional(),
    }).exactOptional(),
    expiresAtSeconds: z.int().exactOptional(),
  }),
);

export function recordKey(operationId: OperationId): Item {
  return { [KEY]: `${IdempotencyRow.record}${operationId}` };
}

export function operationOfKey(partition: string): OperationId {
  return partition.slice(IdempotencyRow.record.length) as OperationId;
}

export function toRecordItem({
  operationId,
  expiresAtSeconds,
  calls: noted,
  ...fields
}: {
  readonly operationId: OperationId;
  readonly expiresAtSeconds?: number;
  readonly calls?: readonly NotedCall[];
}): Item {
  return {
    ...recordKey(operationId),
    ...fields,
    ...(noted === undefined ? {} : { calls: callsText(noted) }),
    ...defined({ [EXPIRY]: expiresAtSeconds }),
  };
}

/** Not yet validated. Reverses {@link toRecordItem}, except that `calls` stays a text. */
export function fieldsOf({ [KEY]: key, [EXPIRY]: expiresAtSeconds, ...fields }: Item): Item {
  const operationId = operationOfKey(String(key));
  return { ...fields, operationId, ...defined({ expiresAtSeconds }) };
}

/** Only an open record has the attributes of the open-claims index. The completing write removes them. */
export function openRecordItem(record: OpenRecord): Item {
  return { ...toRecordItem(record), ...openAttributes(record, dueAtMs(record)) };
}

export function openAttributes({ operationId, claimedAtMs, undecidable }: OpenRecord, dueMs: number): Item {
  const { partitionKey, sortKey } = openClaimsIndex;
  const shard = undecidable === true ? OPERATOR_SHARD : shardOf(operationId, shardsAt(claimedAtMs).claims);
  return { [partitionKey]: shard, [sortKey]: dueMs };
}

/** The resolver tries to finish the open claim from this time on. */
export function dueAtMs({ released, claimedAtMs, leaseExpiresAtMs }: OpenRecord): number {
  return released ? claimedAtMs + RELEASED_MS : leaseExpiresAtMs;
}

export function parseRecord(item: Item): IdempotencyRecord {
  return parseRecordFields(fieldsOf(item));
}

export function parseRecordFields(fields: Item): IdempotencyRecord {
  return recordItem.parse(fields);
}

export function effectRecordItem(record: EffectRecord): Item {
  return { ...toRecordItem(record), status: 'COMPLETED' };
}

export function parseEffectRecord(item: Item): EffectRecord {
  return parseEffectFields(fieldsOf(item));
}

export function parseEffectFields(fields: Item): EffectRecord {
  const { status: _, ...record } = effectItem.parse(fields);
  return record;
}
