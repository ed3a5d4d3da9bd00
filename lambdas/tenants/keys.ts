import type { KeyId } from '../kernel/cause.ts';
import type { TenantId } from '../kernel/ids.ts';
import type { ApiKeyRecord } from './api-key-registry.ts';
import type { OperatorKeyRecord } from './operators.ts';

interface StoredKey {
  /** Lower-case hexadecimal SHA-256 of the key. The key itself is not stored, so read access to the table does not reveal it. */
  readonly keyHash: string;
  /** The last characters of the key. */
  readonly hint: string;
  readonly createdAtMs: number;
}

export interface StoredApiKey extends StoredKey, ApiKeyRecord {
  /** What the key is for. */
  readonly name: string;
}

export interface StoredOperatorKey extends StoredKey, OperatorKeyRecord {}

/** A key's properties without the key itself. */
type Summary<Key> = Key & {
  readonly id: KeyId;
  /** `YYYY-MM-DD`, in UTC. Absent when it was never used. */
  readonly lastUsedOn?: string;
};
export type ApiKeySummary = Summary<StoredApiKey>;
export type OperatorKeySummary = Summary<StoredOperatorKey>;

/** The keys of tenants and operators, for an operator. */
export interface KeyAdministration {
  /** All keys of a tenant, oldest first. */
  listApiKeys(owner: TenantId): Promise<readonly ApiKeySummary[]>;
  /** All keys of operators, oldest first. */
  listOperatorKeys(): Promise<readonly OperatorKeySummary[]>;
  summaryOf(id: KeyId): Promise<ApiKeySummary | OperatorKeySummary | undefined>;
  /** @returns false if the key does not exist or was revoked before */
  revokeKey(id: KeyId): Promise<boolean>;
}
