import { type DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { ROW_IS_NEW } from '../../once/store/transact-items.ts';
import type { Commission } from '../commission.ts';
import { type CommissionKey, commissionKeys } from '../commission-rows.ts';
import { commissionWrites } from '../keep-commission.ts';

/** Used only by operators' commands. */
export class DynamoDbLostCommissions {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, registryTable: string, pacing: Pacing) {
    this.#client = client;
    this.#table = registryTable;
    this.#pacing = pacing;
  }

  /**
   * If the two existing rows were derived from different events, because a restore has lost a write of one row, writes
   * both rows. Nothing is written if the order's row belongs to another payment. A released commission gets no queue
   * entry.
   *
   * @returns whether a row was missing or outdated
   */
  async restore(commission: Commission): Promise<boolean> {
    const { own, ofOrder } = commissionKeys(commission);
    const [order, kept] = await Promise.all([this.#read(ofOrder), this.#read(own)]);
    const isOfAnother = order !== undefined && order['payment'] !== commission.paymentId;
    if (isOfAnother || kept?.['status'] === 'released') return false;
    // The job `release-commissions` decides a commission only if both rows were derived from the same event.
    const isHalf = order !== undefined && kept !== undefined && order['sequence'] !== kept['sequence'];
    let isMissing = false;
    for (const write of commissionWrites(commission)) {
      if (write.kind !== 'put') continue;
      const put = {
        TableName: this.#table,
        Item: { ...keyItem(write.row), ...write.attributes },
        ...(isHalf ? {} : { ConditionExpression: ROW_IS_NEW }),
      };
      const { kind } = await writeConditionally(this.#pacing, () => this.#client.send(new PutCommand(put)));
      if (kind === 'applied') isMissing = true;
    }
    return isMissing;
  }

  async #read(key: CommissionKey): Promise<Item | undefined> {
    const get = { TableName: this.#table, Key: keyItem(key), ConsistentRead: true };
    return (await readWithRetries(this.#pacing, () => this.#client.send(new GetCommand(get)))).Item;
  }
}

function keyItem({ partition, sort }: CommissionKey): Item {
  return { [KeyAttribute.partition]: partition, [KeyAttribute.sort]: sort };
}
