import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { FIRST_SHARD, KeyAttribute } from '../../kernel/contract/tables.ts';
import type { TenantId } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { transactOnce } from '../../once/store/transact-items.ts';
import { tenantRowKey } from './tenant-owners.ts';
import { parseTenantPlace, type TenantPlace } from './tenant-shards.ts';

/** A run of the command that moves a tenant. Only the latest run of a tenant can change the tenant's row. */
export interface TenantMove {
  readonly tenantId: TenantId;
  /** Each run has a greater number than earlier ones, even if it continues or aborts a move. */
  readonly run: number;
  /** The names of the databases. */
  readonly from: string;
  readonly to: string;
}

/** Used only by an operator's command. */
export class TenantMoves {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, registryTable: string, pacing: Pacing) {
    this.#client = client;
    this.#table = registryTable;
    this.#pacing = pacing;
  }

  async read(id: TenantId): Promise<TenantPlace | undefined> {
    const get = { TableName: this.#table, Key: tenantRowKey(id), ConsistentRead: true };
    const { Item } = await readWithRetries(this.#pacing, () => this.#client.send(new GetCommand(get)));
    return Item === undefined ? undefined : parseTenantPlace(Item);
  }

  /**
   * Begins a run, and refuses the tenant's writes.
   *
   * @param place the state of the tenant's row from which the run was planned
   * @returns false if, since then, another run has begun, or the tenant's database has changed
   */
  async begin({ tenantId, run, from, to }: TenantMove, { moves, shard }: TenantPlace): Promise<boolean> {
    const absentOr = (isDefault: boolean, attribute: string): string =>
      isDefault
        ? `(attribute_not_exists(#${attribute}) OR #${attribute} = :${attribute})`
        : `#${attribute} = :${attribute}`;
    return this.#update(tenantId, {
      UpdateExpression: 'SET #moves = :run, #move = :move',
      ConditionExpression: `attribute_exists(${KeyAttribute.partition}) AND ${absentOr(moves === 0, 'moves')} AND ${absentOr(shard === FIRST_SHARD, 'shard')}`,
      ExpressionAttributeNames: { '#moves': 'moves', '#move': 'move', '#shard': 'shard' },
      ExpressionAttributeValues: { ':run': run, ':move': { from, to }, ':moves': moves, ':shard': shard },
    });
  }

  /** @returns false if a later run has begun */
  async switch({ tenantId, run, to }: TenantMove): Promise<boolean> {
    return this.#update(tenantId, {
      UpdateExpression: 'SET #shard = :to',
      ConditionExpression: '#moves = :run',
      ExpressionAttributeNames: { '#moves': 'moves', '#shard': 'shard' },
      ExpressionAttributeValues: { ':run': run, ':to': to },
    });
  }

  /** Lets the tenant's writes continue. @returns false if a later run has begun */
  async end({ tenantId, run }: TenantMove): Promise<boolean> {
    return this.#update(tenantId, {
      UpdateExpression: 'REMOVE #move',
      ConditionExpression: '#moves = :run',
      ExpressionAttributeNames: { '#moves': 'moves', '#move': 'move' },
      ExpressionAttributeValues: { ':run': run },
    });
  }

  async #update(id: TenantId, update: TenantUpdate): Promise<boolean> {
    const items = [{ Update: { TableName: this.#table, Key: tenantRowKey(id), ...update } }];
    return (await transactOnce(this.#client, this.#pacing, items)).kind === 'applied';
  }
}

interface TenantUpdate {
  readonly UpdateExpression: string;
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: Record<string, unknown>;
}
