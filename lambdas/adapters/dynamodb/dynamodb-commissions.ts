import { GetCommand } from '@aws-sdk/lib-dynamodb';
import type { CommissionBook, CommissionDue } from '../../app/ports/commission-book.ts';
import { KeyAttribute } from '../../contract/tables.ts';
import type { Commission, CommissionName } from '../../core/commission.ts';
import {
  type CommissionKey,
  commissionDueKey,
  commissionDuePartition,
  commissionKeys,
} from '../../core/commission-rows.ts';
import { parseCommission, parseCommissionDue } from '../commission-items.ts';
import { readWithRetries } from './attempts.ts';
import type { DueRows } from './due-rows.ts';
import { DynamoDbDueQueue } from './dynamodb-due-queue.ts';
import type { Item } from './items.ts';
import type { QueueTools } from './queue-rows.ts';

const COMMISSIONS_DUE: DueRows<CommissionDue> = {
  partition: commissionDuePartition,
  keyOf: (due) => keyItem(commissionDueKey(due)),
  parse: parseCommissionDue,
};

/** The commissions in the Registry, which their consumer writes. */
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
