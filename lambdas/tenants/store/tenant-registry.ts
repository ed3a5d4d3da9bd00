import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { ALL_SCOPES } from '../../kernel/contract/api.ts';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { tenantId } from '../../kernel/ids.ts';
import type { Pacing } from '../../kernel/platform/attempts.ts';
import { readWithRetries } from '../../kernel/platform/attempts.ts';
import type { ApiKeyRecord, ApiKeyRegistry } from '../api-key-registry.ts';

const apiKeyItem = z.object({
  tenantId: z.string(),
  mode: z.enum(['test', 'live']),
  scopes: z.array(z.enum(ALL_SCOPES)),
  revokedAtMs: z.int().exactOptional(),
});

/** The row key of an API key. Only the SHA-256 of a key is stored, so read access to the table does not reveal keys. */
export function apiKeyRowKey(keyHash: string): Record<string, string> {
  return { [KeyAttribute.partition]: `${RegistryRow.apiKey}${keyHash}`, [KeyAttribute.sort]: 'KEY' };
}

export class DynamoDbApiKeyRegistry implements ApiKeyRegistry {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, table: string, pacing: Pacing) {
    this.#client = client;
    this.#table = table;
    this.#pacing = pacing;
  }

  /** A consistent read: a new key works immediately, and a revoked key is rejected immediately. */
  async findByHash(keyHash: string): Promise<ApiKeyRecord | undefined> {
    const { Item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#table, Key: apiKeyRowKey(keyHash), ConsistentRead: true })),
    );
    return Item === undefined ? undefined : parseApiKey(Item);
  }
}

export function parseApiKey(item: Record<string, unknown>): ApiKeyRecord {
  const row = apiKeyItem.parse(item);
  return { ...row, tenantId: tenantId(row.tenantId) };
}
