import { BatchGetCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import type { RateLimit } from '../../kernel/contract/limits.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { systemClock, systemEntropy } from '../../kernel/platform/platform.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import { type Bucket, LIMIT_KINDS, type LimitKind } from '../limits.ts';
import type { Owner } from '../owners.ts';
import { limitRowKey, parseLimit } from './dynamodb-limits.ts';
import { tenantExists, UnknownTenantError } from './tenant-administration.ts';

/** Reads and changes the limits of a tenant for an operator, with an entry in the activity log for each change. */
export class LimitAdministration {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #activity: DynamoDbActivity;
  readonly #operator: string;

  /** @param operator named in the activity log */
  constructor(client: DynamoDBDocumentClient, tables: Pick<StoreTables, 'ledger' | 'registry'>, operator: string) {
    this.#client = client;
    this.#table = tables.registry;
    this.#activity = new DynamoDbActivity(client, tables, { clock: systemClock, entropy: systemEntropy });
    this.#operator = operator;
  }

  /**
   * Takes effect with the next batch of tokens of each process.
   *
   * @param own undefined restores the limit of the deployment
   * @throws UnknownTenantError if the tenant does not exist
   */
  async set(bucket: Bucket, own: RateLimit | undefined): Promise<void> {
    const { kind, ...chain } = bucket;
    const change = {
      Update: {
        TableName: this.#table,
        Key: limitRowKey(bucket, kind),
        ExpressionAttributeNames: { '#rate': 'rate', '#burst': 'burst' },
        ...(own === undefined
          ? { UpdateExpression: 'REMOVE #rate, #burst' }
          : {
              UpdateExpression: 'SET #rate = :rate, #burst = :burst',
              ExpressionAttributeValues: { ':rate': own.rate, ':burst': own.burst },
            }),
      },
    };
    const details = own === undefined ? {} : { rate: String(own.rate), burst: String(own.burst) };
    const draft = { chain, action: 'limit.changed', actor: { by: 'command', operator: this.#operator } } as const;
    const entry = { ...draft, about: [kind], details, occurredAtMs: Date.now() };
    if (!(await this.#activity.record(entry, [tenantExists(this.#table, bucket.tenantId), change])))
      throw new UnknownTenantError(bucket.tenantId);
  }

  /** @returns for each kind the tenant's own limit, if it has one */
  async list(owner: Owner): Promise<readonly { readonly kind: LimitKind; readonly own?: RateLimit }[]> {
    const Keys = LIMIT_KINDS.map((kind) => limitRowKey(owner, kind));
    const { Responses = {} } = await this.#client.send(
      new BatchGetCommand({ RequestItems: { [this.#table]: { Keys, ConsistentRead: true } } }),
    );
    const rows = new Map(Responses[this.#table]?.map((item) => [item[KeyAttribute.partition], parseLimit(item)]));
    return LIMIT_KINDS.map((kind) => {
      const { rate, burst } = rows.get(limitRowKey(owner, kind)[KeyAttribute.partition]) ?? {};
      return rate === undefined || burst === undefined ? { kind } : { kind, own: { rate, burst } };
    });
  }
}
