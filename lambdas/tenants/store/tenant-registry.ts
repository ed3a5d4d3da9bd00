import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { type KeyId, keyIdOf } from '../../kernel/cause.ts';
import { ALL_SCOPES } from '../../kernel/contract/api.ts';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { tenantId } from '../../kernel/ids.ts';
import type { Pacing } from '../../kernel/platform/attempts.ts';
import { readWithRetries } from '../../kernel/platform/attempts.ts';
import type { ApiKeyRecord, ApiKeyRegistry } from '../api-key-registry.ts';

export const apiKeyItem = z.object({
  keyHash: z.string(),
  tenantId: z.string(),
  mode: z.enum(['test', 'live']),
  scopes: z.array(z.enum(ALL_SCOPES)),
  expiresAtMs: z.int().exactOptional(),
  revokedAtMs: z.int().exactOptional(),
});

export type KeyRowPrefix = typeof RegistryRow.apiKey | typeof RegistryRow.operatorKey;

export function keyRowKey(row: KeyRowPrefix, id: KeyId): Record<string, string> {
  return { [KeyAttribute.partition]: `${row}${id}`, [KeyAttribute.sort]: 'KEY' };
}

export function apiKeyUseKey(id: KeyId): Record<string, string> {
  return { [KeyAttribute.partition]: `${RegistryRow.apiKeyUse}${id}`, [KeyAttribute.sort]: 'USE' };
}

export class KeyRows {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, table: string, pacing: Pacing) {
    this.#client = client;
    this.#table = table;
    this.#pacing = pacing;
  }

  protected async read(row: KeyRowPrefix, id: KeyId): Promise<Record<string, unknown> | undefined> {
    const Key = keyRowKey(row, id);
    const { Item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#table, Key, ConsistentRead: true })),
    );
    return Item;
  }

  async noteUse(id: KeyId, day: string): Promise<void> {
    const set = { UpdateExpression: 'SET usedOn = :day', ExpressionAttributeValues: { ':day': day } };
    await this.#client.send(new UpdateCommand({ TableName: this.#table, Key: apiKeyUseKey(id), ...set }));
  }
}

export class DynamoDbApiKeyRegistry extends KeyRows implements ApiKeyRegistry {
  /**
   * Reads with strong consistency, so that a new key works immediately, and a revoked key is rejected unless it is
   * cached.
   */
  async findByHash(keyHash: string): Promise<ApiKeyRecord | undefined> {
    const item = await this.read(RegistryRow.apiKey, idOfKeyHash(keyHash));
    if (item === undefined) return undefined;
    const { keyHash: stored, ...key } = apiKeyItem.parse(item);
    return stored === keyHash ? { ...key, tenantId: tenantId(key.tenantId) } : undefined;
  }
}

/** The id can be computed from the key, and identifies the key's row. */
export function idOfKeyHash(keyHash: string): KeyId {
  return keyIdOf(Buffer.from(keyHash, 'hex'));
}
