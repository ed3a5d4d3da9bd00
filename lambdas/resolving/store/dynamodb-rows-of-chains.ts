import { DeleteCommand, type DynamoDBDocumentClient, ScanCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { IdempotencyRow, OperationPrefix, RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { operationOfKey } from '../../once/store/record-items.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import type { ApprovalEnd } from '../../operators/domain/approval.ts';
import { parseOrderId } from '../../orders/ids.ts';
import { type ChainId, parsePaymentId } from '../../payments/ids.ts';
import type { ScanPage, ScanRequest } from '../../views/use/view-store.ts';
import type { ChainRowTable, RowOfChain, RowsOfChains } from '../use/close-remnants.ts';

/** Rows per page of the scan: about half a megabyte with typical stored responses. */
const PAGE = 500;
/**
 * HTTP status of the stored response to a request that waits for a second operator's approval. The record of such a
 * request has no transition.
 */
const WAITING = 202;

/** The fields of all kinds of rows; each kind has some of them. */
const anyRow = z.object({
  pk: z.string(),
  sk: z.string().optional(),
  paymentId: z.string().optional(),
  orderId: z.string().optional(),
  salt: z.instanceof(Uint8Array).optional(),
  owner: z.string().optional(),
  status: z.string().optional(),
  claimedAtMs: z.int().optional(),
  recordedAtMs: z.int().optional(),
  id: z.string().optional(),
  operationId: z.string().optional(),
  end: z.looseObject({ verdict: z.string(), atMs: z.int() }).optional(),
  request: z.object({ answer: z.object({ status: z.int(), body: z.string() }) }).optional(),
});
type AnyRow = z.infer<typeof anyRow>;

const FIELDS = Object.keys(anyRow.shape);

const KINDS = [
  ['inquiry', RegistryRow.inquiry],
  ['return', RegistryRow.return],
  ['hold', RegistryRow.hold],
  ['open_order', RegistryRow.openOrder],
  ['reference', RegistryRow.reference],
  ['details', RegistryRow.details],
] as const satisfies readonly (readonly [RowOfChain['kind'], string])[];

const { correction, decision, annotation, changeRequest, approval } = OperationPrefix;
const EFFECTS = [correction, decision, annotation, changeRequest, approval];

/** Body of the stored response to a request that waits for an approval, or to a verdict. The body is the approval. */
const storedApproval = z.object({ id: z.string(), effect: z.object({ id: z.string() }) });

/** The key of a row, and an attribute that reveals whether the row has changed. */
interface Place {
  readonly table: ChainRowTable;
  readonly key: Item;
  readonly unchanged: readonly [name: string, value: unknown];
  /** @default the whole row is removed */
  readonly attribute?: string;
}

/** Scans whole tables, so only operators' commands use it. */
export class DynamoDbRowsOfChains implements RowsOfChains {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, tables: StoreTables, pacing: Pacing) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  async rows(table: ChainRowTable, { segment, segments, after }: ScanRequest): Promise<ScanPage<RowOfChain>> {
    const input = {
      TableName: this.#tables[table],
      Segment: segment,
      TotalSegments: segments,
      Limit: PAGE,
      ConsistentRead: true,
      ProjectionExpression: FIELDS.map((name) => `#${name}`).join(', '),
      ExpressionAttributeNames: Object.fromEntries(FIELDS.map((name) => [`#${name}`, name])),
      ...(after === undefined ? {} : { ExclusiveStartKey: JSON.parse(after) as Item }),
    };
    const { Items = [], LastEvaluatedKey } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new ScanCommand(input)),
    );
    const found = Items.flatMap((item) => {
      const { data } = anyRow.safeParse(item);
      const row = data && (table === 'registry' ? rowOfRegistry(data) : recordOf(data));
      return row === undefined ? [] : [row];
    });
    return LastEvaluatedKey === undefined ? { found } : { found, next: JSON.stringify(LastEvaluatedKey) };
  }

  async remove({ row }: RowOfChain): Promise<boolean> {
    const { table, key, unchanged, attribute } = row as Place;
    const [name, value] = unchanged;
    const input = {
      TableName: this.#tables[table],
      Key: key,
      ConditionExpression: '#unchanged = :unchanged',
      ExpressionAttributeNames: { '#unchanged': name },
      ExpressionAttributeValues: { ':unchanged': value },
    };
    const send = (): Promise<unknown> => {
      if (attribute === undefined) return this.#client.send(new DeleteCommand(input));
      const names = { ...input.ExpressionAttributeNames, '#attribute': attribute };
      const UpdateExpression = 'REMOVE #attribute';
      return this.#client.send(new UpdateCommand({ ...input, UpdateExpression, ExpressionAttributeNames: names }));
    };
    const written = await writeConditionally(this.#pacing, send);
    return written.kind === 'applied';
  }

  async endApproval({ row }: RowOfChain, end: ApprovalEnd): Promise<boolean> {
    const { key: Key } = row as Place;
    const written = await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new UpdateCommand({
          TableName: this.#tables.registry,
          Key,
          UpdateExpression: 'SET #end = :end',
          ConditionExpression: 'attribute_exists(#id) AND attribute_not_exists(#end)',
          ExpressionAttributeNames: { '#id': 'id', '#end': 'end' },
          ExpressionAttributeValues: { ':end': end },
        }),
      ),
    );
    return written.kind === 'applied';
  }
}

function rowOfRegistry(row: AnyRow): RowOfChain | undefined {
  const { pk, sk, salt, paymentId, orderId } = row;
  if (pk === RegistryRow.approvals) return approvalOf(row);
  const [kind, prefix = ''] = KINDS.find(([, each]) => pk.startsWith(each)) ?? [];
  const chainId = chainIdOf(kind === 'details' ? pk.slice(prefix.length) : (orderId ?? paymentId));
  if (kind === undefined || chainId === undefined) return undefined;
  const key = { [KeyAttribute.partition]: pk, [KeyAttribute.sort]: sk };
  const unchanged = salt === undefined ? [orderId === undefined ? 'paymentId' : 'orderId', chainId] : ['salt', salt];
  return { kind, chainId, row: { table: 'registry', key, unchanged } };
}

/**
 * @returns undefined if the approval was rejected, because its request then has no effect, or if the row is incomplete
 */
function approvalOf({ pk, sk, id, operationId, paymentId, end }: AnyRow): RowOfChain | undefined {
  const chainId = chainIdOf(paymentId);
  if (end?.verdict === 'rejected' || chainId === undefined || id === undefined) return undefined;
  const key = { [KeyAttribute.partition]: pk, [KeyAttribute.sort]: sk };
  const named = { chainId, operationId: id as OperationId, effectId: operationId as OperationId };
  if (end === undefined) return { ...named, kind: 'approval', row: { table: 'registry', key, unchanged: ['id', id] } };
  const row: Place = { table: 'registry', key, unchanged: ['end', end], attribute: 'end' };
  return { ...named, kind: 'verdict', writtenAtMs: end.atMs, row };
}

/**
 * @returns undefined for a row that is not such a record, and for a record that was written without a transition or an
 * approval, or whose transition cannot be found by the record's id
 */
function recordOf({
  pk,
  owner,
  status,
  paymentId,
  claimedAtMs,
  recordedAtMs,
  request,
}: AnyRow): RowOfChain | undefined {
  if (!pk.startsWith(IdempotencyRow.record)) return undefined;
  const operationId = operationOfKey(pk);
  const chainId = parseOrderId(operationId) ?? chainIdOf(paymentId);
  if (chainId === undefined) return undefined;
  const row = { table: 'idempotency', key: { [KeyAttribute.partition]: pk }, unchanged: ['owner', owner] };
  const named = { chainId, operationId, row };
  if (claimedAtMs !== undefined)
    return { ...named, kind: status === 'INPROGRESS' ? 'claim' : 'answer', writtenAtMs: claimedAtMs };
  if (request === undefined || !EFFECTS.some((prefix) => operationId.startsWith(prefix))) return undefined;
  const { status: answered, body } = request.answer;
  const isWaiting = answered === WAITING;
  const isOfApproval = isWaiting || operationId.startsWith(approval);
  const { id: approvalId, effect } = isOfApproval ? storedApproval.parse(JSON.parse(body)) : {};
  const effectId = (effect?.id ?? operationId) as OperationId;
  const waiting = isWaiting && approvalId !== undefined ? { approvalId } : {};
  return { ...named, ...waiting, effectId, kind: 'effect', writtenAtMs: recordedAtMs ?? 0 };
}

function chainIdOf(text: string | undefined): ChainId | undefined {
  return text === undefined ? undefined : (parsePaymentId(text) ?? parseOrderId(text));
}
