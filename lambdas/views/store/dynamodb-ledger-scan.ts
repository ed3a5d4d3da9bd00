import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import { parseOrderId } from '../../orders/ids.ts';
import { type ChainId, parsePaymentId } from '../../payments/ids.ts';
import { transitionSort } from '../../payments/store/items.ts';
import type { LedgerScan } from '../use/ledger-scan.ts';
import type { ScanPage, ScanRequest } from '../use/view-store.ts';

/** Number of rows per step, a few hundred kilobytes in total. */
const PAGE = 250;

/** Only for operators' commands. */
export class DynamoDbLedgerScan implements LedgerScan {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, ledgerTable: string, pacing: Pacing) {
    this.#client = client;
    this.#table = ledgerTable;
    this.#pacing = pacing;
  }

  async chains({ segment, segments, after }: ScanRequest): Promise<ScanPage<ChainId>> {
    const input = {
      TableName: this.#table,
      Segment: segment,
      TotalSegments: segments,
      // Find each payment and order once, by its first transition.
      FilterExpression: '#sk = :first',
      ProjectionExpression: '#pk',
      ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
      ExpressionAttributeValues: { ':first': transitionSort(1) },
      Limit: PAGE,
      // Read with strong consistency, because an import must find all payments and orders.
      ConsistentRead: true,
      ...(after === undefined ? {} : { ExclusiveStartKey: JSON.parse(after) as Item }),
    };
    const { Items = [], LastEvaluatedKey } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new ScanCommand(input)),
    );
    const found = Items.flatMap((item) => {
      const [, text = ''] = String(item[KeyAttribute.partition]).split('#');
      const id = parsePaymentId(text) ?? parseOrderId(text);
      return id === undefined ? [] : [id];
    });
    return LastEvaluatedKey === undefined ? { found } : { found, next: JSON.stringify(LastEvaluatedKey) };
  }
}
