import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { type TenantId, tenantId } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { rowsAfter } from '../../kernel/platform/rows-after.ts';
import type { TransactItem } from '../../once/store/transact-items.ts';
import { databaseOfNewTenant } from './tenant-administration.ts';
import { tenantRowKey } from './tenant-owners.ts';
import { parseTenantPlace } from './tenant-shards.ts';

interface TenantPlacementTools {
  readonly client: DynamoDBDocumentClient;
  readonly registryTable: string;
  readonly pacing: Pacing;
}

/**
 * A transaction has at most 100 items (Amazon DynamoDB API reference, "TransactWriteItems"), and one of them is a
 * check.
 */
const PAGE = 99;

/**
 * Assigns the tenants of a deployment with DynamoDB to the databases of an import. A tenant whose row names a database
 * stays there. All others are assigned by a hash of their id, like new tenants of a deployment with several databases.
 */
export class TenantPlacement {
  readonly #tools: TenantPlacementTools;
  readonly #names: readonly string[];
  readonly #known = new Map<TenantId, Promise<string | undefined>>();

  /** @param names the names of the databases, in the order of the settings */
  constructor(tools: TenantPlacementTools, names: readonly string[]) {
    this.#tools = tools;
    this.#names = names;
  }

  /**
   * Returns the database of a tenant, and caches it. It does not change while an import runs: the import writes only
   * this database into the tenant's row, and nothing else changes the database of an existing tenant.
   *
   * @returns undefined if the tenant's row names a database that is not one of `names` or, with several databases, if
   * the tenant has no row
   */
  of(id: TenantId): Promise<string | undefined> {
    const known = this.#known.get(id) ?? this.#read(id);
    this.#known.set(id, known);
    return known;
  }

  async #read(id: TenantId): Promise<string | undefined> {
    const { client, registryTable: TableName, pacing } = this.#tools;
    const get = { TableName, Key: tenantRowKey(id), ConsistentRead: true };
    const { Item } = await readWithRetries(pacing, () => client.send(new GetCommand(get)));
    const shard = Item === undefined ? undefined : shardIn(Item);
    if (shard !== undefined) return this.#names.includes(shard) ? shard : undefined;
    if (this.#names.length === 1) return this.#names[0];
    return Item === undefined ? undefined : databaseOfNewTenant(id, this.#names);
  }

  /**
   * @param after the last tenant of the previous page
   * @returns the writes that assign a database to tenants without one, and `next`: the last tenant of the page, absent
   * on the last page
   */
  async page(after: string | undefined): Promise<{ readonly writes: readonly TransactItem[]; readonly next?: string }> {
    const { client, registryTable: table, pacing } = this.#tools;
    const rows = await rowsAfter(client, { table, partition: RegistryRow.tenants, pacing }, { after, limit: PAGE });
    const placed = this.#names.length === 1 ? [] : rows.filter((row) => shardIn(row) === undefined);
    const next = rows.at(PAGE - 1);
    return {
      writes: placed.map((row) => this.#placing(idOf(row))),
      ...(next === undefined ? {} : { next: idOf(next) }),
    };
  }

  #placing(id: TenantId): TransactItem {
    return {
      Update: {
        TableName: this.#tools.registryTable,
        Key: tenantRowKey(id),
        UpdateExpression: 'SET #shard = :shard',
        ConditionExpression: `attribute_exists(${KeyAttribute.partition}) AND attribute_not_exists(#shard)`,
        ExpressionAttributeNames: { '#shard': 'shard' },
        ExpressionAttributeValues: { ':shard': databaseOfNewTenant(id, this.#names) },
      },
    };
  }
}

function idOf(row: Item): TenantId {
  return tenantId(String(row[KeyAttribute.sort]));
}

function shardIn(row: Item): string | undefined {
  return 'shard' in row ? parseTenantPlace(row).shard : undefined;
}
