import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { checkDetails, detailsItem } from '../../once/store/details-rows.ts';
import { parseRecord, recordKey } from '../../once/store/record-items.ts';
import { claimItem } from '../../once/store/record-writes.ts';
import {
  itemOf,
  RECORD_IS_NEW,
  ROW_IS_NEW,
  type StoreTables,
  type TransactItem,
  transactOnce,
} from '../../once/store/transact-items.ts';
import { DynamoDbEffects } from '../../payments/store/dynamodb-effects.ts';
import { appendItem, detailsPuts } from '../../payments/store/items.ts';
import type { Effect } from '../../payments/use/effect-store.ts';
import type { ClaimOutcome, PaymentStore } from '../../payments/use/payment-store.ts';
import { type Approval, approvalPlace } from '../domain/approval.ts';
import type { ApprovalChange, ApprovingStore, OperatorClaim } from '../use/approving-store.ts';
import { parseApproval, storedApproval, withReason } from './approval-items.ts';

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

/** All approvals are in one partition of the Registry, sorted by time. */
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

  async listApprovals({ after, limit, withReasons }: Parameters<ApprovingStore['listApprovals']>[0]) {
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
    if (withReasons === false) return Items.map(parseApproval);
    const found: Approval[] = [];
    // Read the reasons sequentially: pages are short and rarely requested.
    for (const item of Items) found.push(await this.#withReason(item));
    return found;
  }

  #withReason(item: Item): Promise<Approval> {
    const tools = { client: this.#client, registry: this.#tables.registry, pacing: this.#pacing };
    return withReason(tools, parseApproval(item));
  }

  /**
   * Implements `ApprovingStore.claimChange`. Of two concurrent verdicts, only one ends the approval:
   *
   *   Ben  ── read ── approve: claim ✓ T3 ✓ end ✓
   *   Carl ──── read ── approve: claim ✗ Ben's record exists
   */
  async claimChange({ record, pending, activity, ...change }: OperatorClaim): Promise<ClaimOutcome> {
    const items = [
      claimItem(this.#tables, record),
      appendItem(this.#tables, pending),
      ...detailsPuts(this.#tables, pending),
      ...this.#approvalItems(change),
      ...(await this.activityItems(activity)),
    ];
    const written = await transactOnce(this.#client, this.#pacing, items);
    const existing = written.kind === 'refused' ? itemOf(written.reasons[0]) : undefined;
    if (written.kind === 'applied') return { kind: 'claimed' };
    if (existing === undefined) return { kind: 'transition_exists' };
    const found = parseRecord(existing);
    // If this call owns the record, an earlier attempt of this call was applied, and its response was lost.
    return found.owner === record.owner ? { kind: 'claimed' } : { kind: 'record_exists', record: found };
  }

  protected override itemsOf(effect: Effect & ApprovalChange): TransactItem[] {
    return [...super.itemsOf(effect), ...this.#approvalItems(effect)];
  }

  #approvalItems({ approval, ended, absent }: ApprovalChange): TransactItem[] {
    const items: TransactItem[] = [];
    const { registry: TableName, idempotency } = this.#tables;
    if (absent !== undefined) {
      const Key = recordKey(absent);
      items.push({ ConditionCheck: { TableName: idempotency, Key, ConditionExpression: RECORD_IS_NEW } });
    }
    if (approval !== undefined) {
      const { row, salt, details, part } = storedApproval(approval);
      items.push(
        { Put: { TableName, Item: { ...keyOf(approval), ...row }, ConditionExpression: ROW_IS_NEW } },
        detailsItem(this.#tables, approval.paymentId, salt, details, { part }),
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
      // An approved effect copies the approval's reason, so the reason must still exist. After an erasure, the copy
      // would restore it.
      if (ended.end.verdict === 'approved') {
        const { paymentId, id } = ended.approval;
        items.push(checkDetails(this.#tables, paymentId, id));
      }
    }
    return items;
  }
}
