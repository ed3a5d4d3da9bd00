import { createHash, randomBytes } from 'node:crypto';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { paginateScan, type ScanCommandInput } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { ActivityDraft } from '../../activity/domain/activity.ts';
import { DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import { type KeyId, keyIdOf } from '../../kernel/cause.ts';
import type { Scope } from '../../kernel/contract/api.ts';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { base32 } from '../../kernel/digest.ts';
import type { Mode, TenantId } from '../../kernel/ids.ts';
import { tenantId } from '../../kernel/ids.ts';
import type { Pacing } from '../../kernel/platform/attempts.ts';
import { systemClock, systemEntropy } from '../../kernel/platform/platform.ts';
import { ROW_IS_NEW, type StoreTables, type TransactItem } from '../../once/store/transact-items.ts';
import { ownerRow } from './tenant-owners.ts';
import { apiKeyRowKey, DynamoDbApiKeyRegistry } from './tenant-registry.ts';

const PACING: Pacing = { clock: systemClock, entropy: systemEntropy };

/** 256 bits. */
const KEY_BYTES = 32;
const TENANT_BYTES = 10;
/** Stored characters of a key: enough to distinguish two keys, too few to use one. */
const HINT_LENGTH = 4;

export interface NewApiKey {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly scopes: readonly Scope[];
}

/** A key's properties without the key itself. */
export interface ApiKeySummary {
  readonly keyHash: string;
  readonly mode: string;
  readonly scopes: readonly string[];
  readonly hint: string;
  readonly createdAtMs: number;
  readonly revokedAtMs?: number;
}

export interface TenantSummary {
  readonly id: TenantId;
  readonly name: string;
  readonly createdAtMs: number;
}

const tenantItem = z.object({ name: z.string(), createdAtMs: z.int() });
const apiKeySummaryItem = z.object({
  mode: z.string(),
  scopes: z.array(z.string()),
  hint: z.string(),
  createdAtMs: z.int(),
  revokedAtMs: z.int().exactOptional(),
});

export class UnknownTenantError extends Error {
  override readonly name = 'UnknownTenantError';

  constructor(id: TenantId) {
    super(`There is no tenant ${id}.`);
  }
}

/**
 * Creates tenants, and creates and revokes API keys, for an operator. Each change is written in one transaction with its entry in
 * the activity log. No deployed function has the permissions for it.
 */
export class TenantAdministration {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #activity: DynamoDbActivity;
  readonly #operator: string;

  /** @param operator named in the activity log */
  constructor(client: DynamoDBDocumentClient, tables: Pick<StoreTables, 'ledger' | 'registry'>, operator: string) {
    this.#client = client;
    this.#table = tables.registry;
    this.#activity = new DynamoDbActivity(client, tables, PACING);
    this.#operator = operator;
  }

  async createTenant(name: string): Promise<TenantId> {
    const id = tenantId(`ten_${base32(randomBytes(TENANT_BYTES))}`);
    const row = { ...tenantRowKey(id), name, createdAtMs: Date.now() };
    await this.#write([this.#newRow(row)], { chain: 'deployment', action: 'tenant.created', about: [id] });
    return id;
  }

  /**
   * @returns the key. It cannot be read again, because only its hash is stored
   * @throws UnknownTenantError if the tenant does not exist
   */
  async createApiKey({ tenantId: owner, mode, scopes }: NewApiKey): Promise<string> {
    const key = `sk_${mode}_${randomBytes(KEY_BYTES).toString('base64url')}`;
    const keyHash = hashOfApiKey(key);
    const row = { ...apiKeyRowKey(keyHash), tenantId: owner, mode, scopes, createdAtMs: Date.now() };
    const present = `attribute_exists(${KeyAttribute.partition})`;
    const isWritten = await this.#write(
      [
        { ConditionCheck: { TableName: this.#table, Key: tenantRowKey(owner), ConditionExpression: present } },
        this.#newRow({ ...row, hint: key.slice(-HINT_LENGTH) }),
        // Payments require an API key, so these rows list all account owners without a scan.
        { Put: { TableName: this.#table, Item: ownerRow(owner, mode) } },
      ],
      {
        chain: { tenantId: owner, mode },
        action: 'api_key.created',
        about: [idOfHash(keyHash)],
        details: { scopes: scopes.join(' ') },
      },
    );
    if (!isWritten) throw new UnknownTenantError(owner);
    return key;
  }

  /**
   * Takes effect immediately for processes that have not cached the key, and within ten seconds for the others.
   *
   * @returns false if the key does not exist or was revoked before
   */
  async revokeApiKey(key: string): Promise<boolean> {
    const keyHash = hashOfApiKey(key);
    const found = await new DynamoDbApiKeyRegistry(this.#client, this.#table, PACING).findByHash(keyHash);
    if (found === undefined) return false;
    const update = {
      TableName: this.#table,
      Key: apiKeyRowKey(keyHash),
      UpdateExpression: 'SET revokedAtMs = :now',
      ConditionExpression: `attribute_exists(${KeyAttribute.partition}) AND attribute_not_exists(revokedAtMs)`,
      ExpressionAttributeValues: { ':now': Date.now() },
    };
    const about = [idOfHash(keyHash)];
    return this.#write([{ Update: update }], { chain: found, action: 'api_key.revoked', about });
  }

  #newRow(row: Record<string, unknown>): TransactItem {
    return { Put: { TableName: this.#table, Item: row, ConditionExpression: ROW_IS_NEW } };
  }

  /** @returns false when a condition of the change does not hold; then nothing was written */
  #write(
    change: readonly TransactItem[],
    activity: Pick<ActivityDraft, 'chain' | 'action' | 'about' | 'details'>,
  ): Promise<boolean> {
    const actor = { by: 'command' as const, operator: this.#operator };
    return this.#activity.record({ ...activity, actor, occurredAtMs: Date.now() }, change);
  }

  /** Uses a scan, because operators rarely list tenants, and an index would cost more. */
  async listTenants(): Promise<readonly TenantSummary[]> {
    const items = await this.#scan({
      FilterExpression: 'begins_with(#pk, :prefix) AND #sk = :tenant',
      ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
      ExpressionAttributeValues: { ':prefix': RegistryRow.tenant, ':tenant': 'TENANT' },
    });
    const tenants = items.map((item) => {
      const id = tenantId(String(item[KeyAttribute.partition]).slice(RegistryRow.tenant.length));
      return { id, ...parseTenant(item) };
    });
    return tenants.toSorted((left, right) => left.createdAtMs - right.createdAtMs);
  }

  /** All keys of a tenant. Uses a scan. */
  async listApiKeys(owner: TenantId): Promise<readonly ApiKeySummary[]> {
    const items = await this.#scan({
      FilterExpression: 'begins_with(#pk, :prefix) AND tenantId = :tenant',
      ExpressionAttributeNames: { '#pk': KeyAttribute.partition },
      ExpressionAttributeValues: { ':prefix': RegistryRow.apiKey, ':tenant': owner },
    });
    return items.map(summaryOf);
  }

  async #scan(filter: Omit<ScanCommandInput, 'TableName'>): Promise<readonly Record<string, unknown>[]> {
    const found: Record<string, unknown>[] = [];
    for await (const { Items = [] } of paginateScan({ client: this.#client }, { TableName: this.#table, ...filter }))
      found.push(...Items);
    return found;
  }
}

/** The lower-case hexadecimal SHA-256 of a key, by which the key is found. */
export function hashOfApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function idOfHash(keyHash: string): KeyId {
  return keyIdOf(Buffer.from(keyHash, 'hex'));
}

function tenantRowKey(id: TenantId): Record<string, string> {
  return { [KeyAttribute.partition]: `${RegistryRow.tenant}${id}`, [KeyAttribute.sort]: 'TENANT' };
}

export function parseTenant(item: Record<string, unknown>): Omit<TenantSummary, 'id'> {
  return tenantItem.parse(item);
}

function summaryOf(item: Record<string, unknown>): ApiKeySummary {
  const keyHash = String(item[KeyAttribute.partition]).slice(RegistryRow.apiKey.length);
  return { keyHash, ...apiKeySummaryItem.parse(item) };
}
