import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { ROW_IS_NEW, type StoreTables } from '../../once/store/transact-items.ts';
import { referenceRowKey } from '../../payments/store/items.ts';
import { holdItem, inquiryItem, openOrderRow, returnItem } from '../../payments/store/queue-items.ts';
import type { ImpliedRow, ImpliedRows } from '../use/rebuild-queues.ts';

/** Rows of the Registry. Only for operators' commands. */
export class DynamoDbImpliedRows implements ImpliedRows {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, tables: StoreTables, pacing: Pacing) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  async putMissing(implied: ImpliedRow): Promise<boolean> {
    const Item = this.#rowOf(implied);
    const put = { TableName: this.#tables.registry, Item, ConditionExpression: ROW_IS_NEW };
    const written = await writeConditionally(this.#pacing, () => this.#client.send(new PutCommand(put)));
    return written.kind === 'applied';
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
  invariant(Put?.Item !== undefined, 'an entry is written by a put');
  return Put.Item;
}
