import { type DynamoDBDocumentClient, GetCommand, PutCommand, type PutCommandInput } from '@aws-sdk/lib-dynamodb';
import type { PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { ROW_IS_NEW, type StoreTables } from '../../once/store/transact-items.ts';
import { parseReferenceHolder, referenceRowKey } from '../../payments/store/items.ts';
import { holdItem, inquiryItem, openOrderRow, returnItem } from '../../payments/store/queue-items.ts';
import type { ReferenceName } from '../../payments/use/payment-store.ts';
import type { ImpliedRow, ImpliedRows } from '../use/rebuild-queues.ts';

/** Used only by operators' commands. */
export class DynamoDbImpliedRows implements ImpliedRows {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, tables: StoreTables, pacing: Pacing) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  async putMissing(implied: ImpliedRow, isEnded: (holder: PaymentId) => Promise<boolean>): Promise<boolean> {
    const Item = this.#rowOf(implied);
    const isWritten = await this.#put(Item, { ConditionExpression: ROW_IS_NEW });
    if (isWritten || implied.kind !== 'reference') return isWritten;
    const holder = await this.#holderOf(implied.row);
    if (holder === undefined || holder === implied.row.paymentId || !(await isEnded(holder))) return false;
    return this.#put(Item, {
      ConditionExpression: 'paymentId = :holder',
      ExpressionAttributeValues: { ':holder': holder },
    });
  }

  async #put(
    Item: Item,
    condition: Pick<PutCommandInput, 'ConditionExpression' | 'ExpressionAttributeValues'>,
  ): Promise<boolean> {
    const put = { TableName: this.#tables.registry, Item, ...condition };
    const written = await writeConditionally(this.#pacing, () => this.#client.send(new PutCommand(put)));
    return written.kind === 'applied';
  }

  async #holderOf(name: ReferenceName): Promise<PaymentId | undefined> {
    const asked = { TableName: this.#tables.registry, Key: referenceRowKey(name), ConsistentRead: true };
    const { Item: row } = await readWithRetries(this.#pacing, () => this.#client.send(new GetCommand(asked)));
    return row === undefined ? undefined : parseReferenceHolder(row);
  }

  #rowOf({ kind, row }: ImpliedRow): Item {
    switch (kind) {
      case 'inquiry':
        return itemIn(inquiryItem(this.#tables, row));
      case 'return':
        return itemIn(returnItem(this.#tables, row));
      case 'hold':
        return itemIn(holdItem(this.#tables, row));
      case 'open_order':
        return openOrderRow(row);
      case 'reference':
        return { ...referenceRowKey(row), paymentId: row.paymentId };
    }
  }
}

function itemIn({ Put }: ReturnType<typeof inquiryItem>): Item {
  invariant(Put?.Item !== undefined, 'the write of a queue entry is not a put');
  return Put.Item;
}
