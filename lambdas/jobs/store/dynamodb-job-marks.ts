import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { ROW_IS_NEW } from '../../once/store/transact-items.ts';
import type { JobMarks } from '../use/job-marks.ts';

const markItem = z.object({ at: z.string() });

/**
 * Stores marks in rows `JOB_MARK#<job id>` / `MARK` of the Registry. A mark is the position up to which a job has
 * processed everything.
 */
export class DynamoDbJobMarks implements JobMarks {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, registryTable: string, pacing: Pacing) {
    this.#client = client;
    this.#table = registryTable;
    this.#pacing = pacing;
  }

  async readMark(jobId: string): Promise<string | undefined> {
    const output = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#table, Key: keyOf(jobId), ConsistentRead: true })),
    );
    return output.Item === undefined ? undefined : parseMark(output.Item);
  }

  /**
   * If the response to a write is lost, the condition of the retry fails. The result is then false, although the mark
   * has the requested value.
   */
  async moveMark(jobId: string, from: string | undefined, to: string): Promise<boolean> {
    const condition =
      from === undefined
        ? { ConditionExpression: ROW_IS_NEW }
        : {
            ConditionExpression: '#at = :from',
            ExpressionAttributeNames: { '#at': 'at' },
            ExpressionAttributeValues: { ':from': from },
          };
    const written = await writeConditionally(this.#pacing, () =>
      this.#client.send(new PutCommand({ TableName: this.#table, Item: { ...keyOf(jobId), at: to }, ...condition })),
    );
    return written.kind === 'applied';
  }
}

export function parseMark(item: Item): string {
  return markItem.parse(item).at;
}

function keyOf(jobId: string): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.jobMark}${jobId}`, [KeyAttribute.sort]: 'MARK' };
}
