import { createHash, randomBytes } from 'node:crypto';
import { ConditionalCheckFailedException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import {
  PutCommand,
  paginateScan,
  type ScanCommandInput,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { Scope } from '../../kernel/contract/api.ts';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { base32 } from '../../kernel/digest.ts';
import type { Mode, TenantId } from '../../kernel/ids.ts';
import { tenantId } from '../../kernel/ids.ts';
import { ownerRow } from './tenant-owners.ts';
import { apiKeyRowKey } from './tenant-registry.ts';

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

/** Creates tenants, and creates and revokes API keys, for an operator. No deployed function has the permissions for it. */
export class TenantAdministration {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async createTenant(name: string): Promise<TenantId> {
    const id = tenantId(`ten_${base32(randomBytes(TENANT_BYTES))}`);
    await this.#client.send(
      new PutCommand({
        TableName: this.#table,
        Item: { ...tenantRowKey(id), name, createdAtMs: Date.now() },
        ConditionExpression: `attribute_not_exists(${KeyAttribute.partition})`,
      }),
    );
    return id;
  }

  /**
   * @returns the key. It cannot be read again, because only its hash is stored
   * @throws UnknownTenantError if the tenant does not exist
   */
  async createApiKey({ tenantId: owner, mode, scopes }: NewApiKey): Promise<string> {
    const key = `sk_${mode}_${randomBytes(KEY_BYTES).toString('base64url')}`;
    const row = { ...apiKeyRowKey(hashOfApiKey(key)), tenantId: owner, mode, scopes, createdAtMs: Date.now() };
    const absent = `attribute_not_exists(${KeyAttribute.partition})`;
    const present = `attribute_exists(${KeyAttribute.partition})`;
    try {
      await this.#client.send(
        new TransactWriteCommand({
          TransactItems: [
            { ConditionCheck: { TableName: this.#table, Key: tenantRowKey(owner), ConditionExpression: present } },
            {
              Put: {
                TableName: this.#table,
                Item: { ...row, hint: key.slice(-HINT_LENGTH) },
                ConditionExpression: absent,
              },
            },
            // Payments require an API key, so these rows list all account owners without a scan.
            { Put: { TableName: this.#table, Item: ownerRow(owner, mode) } },
          ],
        }),
      );
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error;
      if (error.CancellationReasons?.[0]?.Code === 'ConditionalCheckFailed') throw new UnknownTenantError(owner);
      throw error;
    }
    return key;
  }

  /**
   * Takes effect immediately for processes that have not cached the key, and within ten seconds for the others.
   *
   * @returns false if the key does not exist or was revoked before
   */
  async revokeApiKey(key: string): Promise<boolean> {
    try {
      await this.#client.send(
        new UpdateCommand({
          TableName: this.#table,
          Key: apiKeyRowKey(hashOfApiKey(key)),
          UpdateExpression: 'SET revokedAtMs = :now',
          ConditionExpression: `attribute_exists(${KeyAttribute.partition}) AND attribute_not_exists(revokedAtMs)`,
          ExpressionAttributeValues: { ':now': Date.now() },
        }),
      );
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
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
