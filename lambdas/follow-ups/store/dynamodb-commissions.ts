import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { DUE_SHARDS } from '../../kernel/due-sort.ts';
import { readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import type { DueRows, QueueTools } from '../../kernel/platform/queue-rows.ts';

import { DynamoDbDueQueue } from '../../resolving/store/dynamodb-due-queue.ts';
import type { Commission, CommissionName } from '../commission.ts';
import type { CommissionBook, CommissionDue } from '../commission-book.ts';
import { type CommissionKey, commissionDueKey, commissionDuePartition, commissionKeys } from '../commission-rows.ts';
import { parseCommission, parseCommissionDue } from './commission-items.ts';

const COMMISSIONS_DUE: DueRows<CommissionDue> = {
  partition: commissionDuePartition,
  shards: () => DUE_SHARDS,
  keyOf: (due) => keyItem(commissionDueKey(due)),
  parse: parseCommissionDue,
};

/** The consumer of commission events writes the commissions. */
export class DynamoDbCommissions implements CommissionBook {
  readonly due: CommissionBook['due'];
  readonly #tools: QueueTools;

  constructor(tools: QueueTools) {
    this.#tools = tools;
    this.due = new DynamoDbDueQueue(tools, COMMISSIONS_DUE);
  }

  async readCommission(name: CommissionName): Promise<Commission | undefined> {
    const { client, table, pacing } = this.#tools;
    const output = await readWithRetries(pacing, () =>
      client.send(new GetCommand({ TableName: table, Key: keyItem(commissionKeys(name).own), ConsistentRead: true })),
    );
    return output.Item === undefined ? undefined : parseCommission(output.Item, name);
  }
}

function keyItem({ partition, sort }: CommissionKey): Item {
  return { [KeyAttribute.partition]: partition, [KeyAttribute.sort]: sort };
}
