import type { KeyId } from '../kernel/cause.ts';
import type { TenantId } from '../kernel/ids.ts';
import type { EffectRecord } from '../once/domain/idempotency.ts';
import type { ApiKeyRecord } from './api-key-registry.ts';
import type { OperatorKeyRecord } from './operators.ts';

interface StoredKey {
  /**
   * Lower-case hexadecimal SHA-256 of the key. The key itself is not stored, so read access to the table does not
   * reveal it.
   */
  readonly keyHash: string;
  /** The last characters of the key, by which a person recognizes it. */
  readonly hint: string;
  readonly createdAtMs: number;
  /** Id of the key that replaced this key. A key can be replaced only once. */
  readonly rolledTo?: KeyId;
}

export interface StoredApiKey extends StoredKey, ApiKeyRecord {
  readonly name: string;
}

export interface NewApiKey extends Pick<ApiKeyRecord, 'tenantId' | 'mode' | 'scopes'> {
  readonly name: string;
  /** @default the key does not expire */
  readonly expiresAtMs?: number;
}

export interface StoredOperatorKey extends StoredKey, OperatorKeyRecord {}

type Summary<Key> = Key & {
  readonly id: KeyId;
  /** Last day of use as `YYYY-MM-DD`, in UTC. Absent when the key was never used. */
  readonly lastUsedOn?: string;
};
export type ApiKeySummary = Summary<StoredApiKey>;
export type OperatorKeySummary = Summary<StoredOperatorKey>;

export type KeySummary = ApiKeySummary | OperatorKeySummary;

export interface MadeKey {
  /** The secret key. It cannot be retrieved later, because only its hash is stored. */
  readonly key: string;
  readonly summary: KeySummary;
}

export interface TenantSummary {
  readonly id: TenantId;
  readonly name: string;
  readonly createdAtMs: number;
}

export interface Page<Id> {
  readonly after?: Id;
  readonly limit: number;
}

/** The record and the key are written in one transaction. */
export type RecordOfKey = (made: KeySummary) => EffectRecord;

/**
 * Thrown when a request would revoke the last key with the owner role. Only owners may manage keys, so without that
 * key, keys could be created and revoked only by the command line.
 */
export class LastOwnerKeyError extends Error {
  override readonly name = 'LastOwnerKeyError';
}

export interface KeyAdministration {
  /** Sorted by id. */
  pageOfTenants(page: Page<TenantId>): Promise<readonly TenantSummary[]>;
  /** Sorted by id. Without an owner, returns the operators' keys. */
  pageOfKeys(owner: TenantId | undefined, page: Page<KeyId>): Promise<readonly KeySummary[]>;
  summaryOf(id: KeyId): Promise<KeySummary | undefined>;
  /**
   * @returns false if the key does not exist or was already revoked
   * @throws LastOwnerKeyError if an operator tries to revoke the last valid key with the owner role
   */
  revokeKey(id: KeyId): Promise<boolean>;
  /**
   * @returns undefined if the tenant does not exist or the request was already recorded; in both cases, nothing was
   * written
   */
  makeApiKey(wanted: NewApiKey, recordOf?: RecordOfKey): Promise<MadeKey | undefined>;
  /**
   * Replaces a key with a new key that has the same name, rights and lifetime. Of two concurrent replacements, only the
   * first takes effect.
   *
   * @param overlapSeconds 0 revokes the old key immediately
   * @returns undefined if no valid key has this id, the key was already replaced, or the request was already recorded
   */
  makeSuccessor(id: KeyId, overlapSeconds: number, recordOf?: RecordOfKey): Promise<MadeKey | undefined>;
}
