import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import type { Actor } from '../../activity/domain/activity.ts';
import { DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import type { RateLimit } from '../../kernel/contract/limits.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import { type Bucket, LIMIT_KINDS, type LimitKind, type LimitSettings, type TenantLimit } from '../limits.ts';
import type { Owner } from '../owners.ts';
import { limitRowKey, parseLimit } from './dynamodb-limits.ts';
import { newRecord, PACING, tenantExists, UnknownTenantError } from './tenant-administration.ts';

/** Each change writes an entry to the activity log. */
export class LimitAdministration implements LimitSettings {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #activity: DynamoDbActivity;
  readonly #actor: Actor;
  readonly #pacing: Pacing;

  /** @param actor recorded in the activity log: the user of the command line, or an operator of the API */
  constructor(
    client: DynamoDBDocumentClient,
    tables: StoreTables,
    actor: string | OperatorCause,
    pacing: Pacing = PACING,
  ) {
    this.#client = client;
    this.#tables = tables;
    this.#activity = new DynamoDbActivity(client, tables, pacing);
    this.#actor = typeof actor === 'string' ? { by: 'command', operator: actor } : actor;
    this.#pacing = pacing;
  }

  /** @throws UnknownTenantError if the tenant does not exist */
  async set(bucket: Bucket, own: RateLimit | undefined): Promise<void> {
    if (!(await this.change(bucket, own))) throw new UnknownTenantError(bucket.tenantId);
  }

  change(bucket: Bucket, own: RateLimit | undefined, record?: EffectRecord): Promise<boolean> {
    const { kind, ...chain } = bucket;
    const { idempotency, registry } = this.#tables;
    const change = {
      Update: {
        TableName: registry,
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
    const draft = { chain, action: 'limit.changed', actor: this.#actor } as const;
    const entry = { ...draft, about: [kind], details, occurredAtMs: this.#pacing.clock.nowMs() };
    const recorded = record === undefined ? [] : [newRecord(idempotency, record)];
    return this.#activity.record(entry, [...recorded, tenantExists(registry, bucket.tenantId), change]);
  }

  list(owner: Owner): Promise<readonly TenantLimit[]> {
    return Promise.all(LIMIT_KINDS.map((kind) => this.#read(owner, kind)));
  }

  async #read(owner: Owner, kind: LimitKind): Promise<TenantLimit> {
    const get = { TableName: this.#tables.registry, Key: limitRowKey(owner, kind), ConsistentRead: true };
    const { Item = {} } = await readWithRetries(this.#pacing, () => this.#client.send(new GetCommand(get)));
    const { rate, burst } = parseLimit(Item);
    return rate === undefined || burst === undefined ? { kind } : { kind, own: { rate, burst } };
  }
}
