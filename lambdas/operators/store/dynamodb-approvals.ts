import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import type { OperationId, PaymentId, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { type Item, itemSchema } from '../../kernel/platform/items.ts';
import { detailsItem, readDetails } from '../../once/store/details-rows.ts';
import { ROW_IS_NEW, type StoreTables, type TransactItem } from '../../once/store/transact-items.ts';
import { PAYMENT_STATUSES, TRANSITION_TYPES } from '../../payments/domain/payment.ts';
import { ACCOUNTS, type Posting } from '../../payments/domain/posting.ts';
import { DynamoDbEffects } from '../../payments/store/dynamodb-effects.ts';
import type { Effect } from '../../payments/use/effect-store.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import {
  type Approval,
  type ApprovalEnd,
  type Asked,
  approvalPlace,
  type Person,
  type ShownEffect,
} from '../domain/approval.ts';
import type { CorrectionRequest } from '../domain/correction.ts';
import type { ApprovalChange, ApprovingStore } from '../use/approving-store.ts';

const operation = z.string().transform((id) => id as OperationId);
const leg = {
  account: z.enum(ACCOUNTS),
  direction: z.enum(['debit', 'credit']),
  amountMinor: z.int().min(1),
};
const person = itemSchema<Person>()({ name: z.string(), person: z.string(), identity: z.string() });

type Change = CorrectionRequest['change'];
const change = z.discriminatedUnion('kind', [
  itemSchema<Extract<Change, { kind: 'reverse' }>>()({ kind: z.literal('reverse'), sequence: z.int().min(1) }),
  itemSchema<Extract<Change, { kind: 'post' }>>()({
    kind: z.literal('post'),
    legs: z.array(itemSchema<Omit<Posting, 'currency'>>()(leg)),
  }),
]);

const approvalItem = itemSchema<Omit<Approval, 'reason' | 'salt'>>()({
  id: operation,
  operationId: operation,
  paymentId: z.string().transform((id) => id as PaymentId),
  tenantId: z.string().transform((id) => id as TenantId),
  mode: z.enum(['test', 'live']),
  asked: z.discriminatedUnion('kind', [
    itemSchema<Extract<Asked, { kind: 'correction' }>>()({ kind: z.literal('correction'), change }),
    itemSchema<Extract<Asked, { kind: 'decision' }>>()({
      kind: z.literal('decision'),
      outcome: z.enum(['succeeded', 'failed']),
      change: operation.exactOptional(),
      chargeId: z.string().exactOptional(),
      takenMinor: z.int().min(1).exactOptional(),
      override: z.literal(true).exactOptional(),
    }),
  ]),
  amountMinor: z.int().min(0),
  currency: z.string(),
  effect: itemSchema<ShownEffect>()({
    type: z.enum(TRANSITION_TYPES),
    paymentStatus: z.enum(PAYMENT_STATUSES),
    postings: z.array(itemSchema<Posting>()({ ...leg, currency: z.string() })),
  }),
  askedBy: person,
  commitment: z.instanceof(Uint8Array),
  createdAtMs: z.int(),
  expiresAtMs: z.int(),
  end: itemSchema<ApprovalEnd>()({
    verdict: z.enum(['approved', 'rejected']),
    by: person,
    atMs: z.int(),
  }).exactOptional(),
});

const reasonItem = z.object({ reason: z.string() });

export function parseApproval(item: Item): Omit<Approval, 'reason' | 'salt'> {
  return approvalItem.parse(item);
}

function approvalKey(id: string): Item | undefined {
  const place = approvalPlace(id);
  return place === undefined
    ? undefined
    : { [KeyAttribute.partition]: RegistryRow.approvals, [KeyAttribute.sort]: place };
}

function keyOf({ id }: Pick<Approval, 'id'>): Item {
  const key = approvalKey(id);
  invariant(key !== undefined, `${id} is not the id of an approval`);
  return key;
}

/**
 * Stores the effects of operators' requests. If a request must wait for an approval, stores the approval instead. All
 * approvals are in one partition of the Registry, sorted by time.
 */
export class DynamoDbApprovals extends DynamoDbEffects implements ApprovingStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;

  constructor(
    client: DynamoDBDocumentClient,
    tables: StoreTables,
    pacing: Pacing,
    transitions: Pick<PaymentStore, 'listTransitions'>,
  ) {
    super(client, tables, pacing, transitions);
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  async readApproval(id: string): Promise<Approval | undefined> {
    const Key = approvalKey(id);
    if (Key === undefined) return undefined;
    const { Item: item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#tables.registry, Key, ConsistentRead: true })),
    );
    return item === undefined ? undefined : this.#withReason(item);
  }

  async listApprovals({ after, limit }: { readonly after?: string; readonly limit: number }) {
    const before = after === undefined ? undefined : approvalPlace(after);
    const { partition, sort } = KeyAttribute;
    const { Items = [] } = await readWithRetries(this.#pacing, () =>
      this.#client.send(
        new QueryCommand({
          TableName: this.#tables.registry,
          KeyConditionExpression: before === undefined ? '#pk = :pk' : '#pk = :pk AND #sk < :before',
          ExpressionAttributeNames: { '#pk': partition, ...(before === undefined ? {} : { '#sk': sort }) },
          ExpressionAttributeValues: {
            ':pk': RegistryRow.approvals,
            ...defined({ ':before': before }),
          },
          ScanIndexForward: false,
          ConsistentRead: true,
          Limit: limit,
        }),
      ),
    );
    const found: Approval[] = [];
    // Read the reasons one after the other: a page is short, and is rarely requested.
    for (const item of Items) found.push(await this.#withReason(item));
    return found;
  }

  /**
   * Adds the reason to an approval. The reason is stored in a details row of the payment, so that an erasure of the
   * payment's personal data includes it.
   */
  async #withReason(item: Item): Promise<Approval> {
    const approval = approvalItem.parse(item);
    const tools = { client: this.#client, registry: this.#tables.registry, pacing: this.#pacing };
    const { paymentId, commitment, id } = approval;
    const row = await readDetails(tools, paymentId, commitment, reasonItem, id);
    return { ...approval, ...defined({ reason: row?.reason }) };
  }

  protected override itemsOf(effect: Effect & ApprovalChange): TransactItem[] {
    const { approval, ended } = effect;
    const items = super.itemsOf(effect);
    const { registry: TableName } = this.#tables;
    if (approval !== undefined) {
      const { reason, salt, ...row } = approval;
      invariant(salt !== undefined, 'a new approval has no sealed reason');
      items.push(
        { Put: { TableName, Item: { ...keyOf(approval), ...row }, ConditionExpression: ROW_IS_NEW } },
        detailsItem(this.#tables, approval.paymentId, salt, { reason }, { part: approval.id }),
      );
    }
    if (ended !== undefined) {
      items.push({
        Update: {
          TableName,
          Key: keyOf(ended.approval),
          UpdateExpression: 'SET #end = :end',
          ConditionExpression: 'attribute_not_exists(#end)',
          ExpressionAttributeNames: { '#end': 'end' },
          ExpressionAttributeValues: { ':end': ended.end },
        },
      });
    }
    return items;
  }
}
