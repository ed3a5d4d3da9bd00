import { type DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { defined } from '../../kernel/defined.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import type { ScanPage, ScanRequest } from '../../views/use/view-store.ts';

/** Items per page: about half a megabyte with typical stored responses. */
const PAGE = 500;

/** Used only by operators' commands. */
export class ScannedItems {
  readonly #client: DynamoDBDocumentClient;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, pacing: Pacing) {
    this.#client = client;
    this.#pacing = pacing;
  }

  /** `scanAll` processes the page as one item. */
  async page(table: string, { segment, segments, after }: ScanRequest): Promise<ScanPage<readonly Item[]>> {
    const input = {
      TableName: table,
      Segment: segment,
      TotalSegments: segments,
      Limit: PAGE,
      ConsistentRead: true,
      ...defined({ ExclusiveStartKey: after === undefined ? undefined : (JSON.parse(after) as Item) }),
    };
    const { Items = [], LastEvaluatedKey } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new ScanCommand(input)),
    );
    return LastEvaluatedKey === undefined
      ? { found: [Items] }
      : { found: [Items], next: JSON.stringify(LastEvaluatedKey) };
  }
}
