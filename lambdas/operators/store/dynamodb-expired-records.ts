import { DescribeTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DeleteCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { IdempotencyTable } from '../../kernel/contract/tables.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import type { ScanPage, ScanRequest } from '../../views/use/view-store.ts';
import type { ExpiredRecord, ExpiredRecords, TimeToLive } from '../use/expired-records.ts';

const { partitionKey: PK, timeToLiveAttribute: EXPIRY } = IdempotencyTable;

/**
 * With typical stored responses, these rows are about half a megabyte. Only the keys and expiries of expired rows are
 * returned.
 */
const PAGE = 500;

const expiredItem = z.object({ [PK]: z.string(), [EXPIRY]: z.int() });

/** Only completed records expire. An open record has no expiry, and the filter excludes open records in any case. */
export class DynamoDbExpiredRecords implements ExpiredRecords {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, idempotencyTable: string, pacing: Pacing) {
    this.#client = client;
    this.#table = idempotencyTable;
    this.#pacing = pacing;
  }

  async scan({ segment, segments, after }: ScanRequest, beforeSeconds: number): Promise<ScanPage<ExpiredRecord>> {
    const input = {
      TableName: this.#table,
      Segment: segment,
      TotalSegments: segments,
      Limit: PAGE,
      FilterExpression: '#expiry < :before AND #status = :completed',
      ProjectionExpression: '#pk, #expiry',
      ExpressionAttributeNames: { '#pk': PK, '#expiry': EXPIRY, '#status': 'status' },
      ExpressionAttributeValues: { ':before': beforeSeconds, ':completed': 'COMPLETED' },
      ...(after === undefined ? {} : { ExclusiveStartKey: JSON.parse(after) as Item }),
    };
    const { Items = [], LastEvaluatedKey } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new ScanCommand(input)),
    );
    const found = Items.map((item) => {
      const row = expiredItem.parse(item);
      return { key: row[PK], expiresAtSeconds: row[EXPIRY] };
    });
    return LastEvaluatedKey === undefined ? { found } : { found, next: JSON.stringify(LastEvaluatedKey) };
  }

  /**
   * Deletes the record if it has not changed. If the key was used again, the condition protects the new record:
   *
   *   purge   ── finds the expired record ──────────────── delete ✗ the expiry differs
   *   rival             └─ time to live deletes it, the operation is recorded again
   */
  async remove({ key, expiresAtSeconds }: ExpiredRecord): Promise<boolean> {
    const written = await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new DeleteCommand({
          TableName: this.#table,
          Key: { [PK]: key },
          ConditionExpression: '#expiry = :found AND #status = :completed',
          ExpressionAttributeNames: { '#expiry': EXPIRY, '#status': 'status' },
          ExpressionAttributeValues: { ':found': expiresAtSeconds, ':completed': 'COMPLETED' },
        }),
      ),
    );
    return written.kind === 'applied';
  }
}

export class DynamoDbTimeToLive implements TimeToLive {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: Readonly<Record<string, string>>;
  readonly #pacing: Pacing;

  /** @param tables DynamoDB table names, keyed by the names that are used in logs */
  constructor(client: DynamoDBDocumentClient, tables: Readonly<Record<string, string>>, pacing: Pacing) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  states(): Promise<readonly { readonly table: string; readonly isOn: boolean }[]> {
    return Promise.all(
      Object.entries(this.#tables).map(async ([table, TableName]) => {
        const { TimeToLiveDescription: described } = await readWithRetries(this.#pacing, () =>
          this.#client.send(new DescribeTimeToLiveCommand({ TableName })),
        );
        const status = described?.TimeToLiveStatus;
        // Accept `ENABLING`: it can take up to an hour to enable time to live (Amazon DynamoDB API reference,
        // "UpdateTimeToLive").
        const isOn = status === 'ENABLED' || status === 'ENABLING';
        return { table, isOn: isOn && described?.AttributeName === EXPIRY };
      }),
    );
  }
}
