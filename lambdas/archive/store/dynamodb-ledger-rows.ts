import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { QueryCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import type { LedgerRows, RowPage } from '../use/ledger-rows.ts';
import { readChainRow } from './read-chain-row.ts';

/** Maximum number of rows per page. DynamoDB returns at most 1 MB per request, about a thousand transitions. */
const PAGE = 1_000;
/** Reads whole rows: scanning a million rows of one kilobyte consumes 125,000 read units. */
export class DynamoDbLedgerRows implements LedgerRows {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, ledgerTable: string, pacing: Pacing) {
    this.#client = client;
    this.#table = ledgerTable;
    this.#pacing = pacing;
  }

  async page(after: string | undefined): Promise<RowPage> {
    const input = { TableName: this.#table, Limit: PAGE, ...startOf(after) };
    return pageOf(await readWithRetries(this.#pacing, () => this.#client.send(new ScanCommand(input))));
  }

  async chain(chain: string, after: string | undefined): Promise<RowPage> {
    const input = {
      TableName: this.#table,
      KeyConditionExpression: '#pk = :pk',
      ExpressionAttributeNames: { '#pk': KeyAttribute.partition },
      ExpressionAttributeValues: { ':pk': chain },
      ConsistentRead: true,
      Limit: PAGE,
      ...startOf(after),
    };
    return pageOf(await readWithRetries(this.#pacing, () => this.#client.send(new QueryCommand(input))));
  }
}

function startOf(after: string | undefined): { readonly ExclusiveStartKey?: Item } {
  return after === undefined ? {} : { ExclusiveStartKey: JSON.parse(after) as Item };
}

function pageOf({
  Items = [],
  LastEvaluatedKey,
}: {
  readonly Items?: Item[] | undefined;
  readonly LastEvaluatedKey?: Item | undefined;
}): RowPage {
  const rows = Items.map((item) => ({ row: readChainRow(item), item }));
  return LastEvaluatedKey === undefined ? { rows } : { rows, next: JSON.stringify(LastEvaluatedKey) };
}
