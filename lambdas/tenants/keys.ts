import type { KeyId } from '../kernel/cause.ts';
import type { TenantId } from '../kernel/ids.ts';
import type { EffectRecord } from '../once/domain/idempotency.ts';
import type { ApiKeyRecord } from './api-key-registry.ts';
import type { OperatorKeyRecord } from './operators.ts';

interface StoredKey {
  /** Lower-case hexadecimal SHA-256 of the key. The key itself is not stored, so read access to the table does not reveal it. */
  readonly keyHash: string;
  /** The last characters of the key. */
  readonly hint: string;
  readonly createdAtMs: number;
  /** The key that has replaced it. A key is replaced once. */
  readonly rolledTo?: KeyId;
}

export interface StoredApiKey extends StoredKey, ApiKeyRecord {
  /** The purpose of the key. */
  readonly name: string;
}

export interface NewApiKey extends Pick<ApiKeyRecord, 'tenantId' | 'mode' | 'scopes'> {
  /** The purpose of the key. */
  readonly name: string;
  /** @default it does not expire */
  readonly expiresAtMs?: number;
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

export type KeySummary = ApiKeySummary | OperatorKeySummary;

export interface MadeKey {
  /** The key itself. It cannot be read again, because only its hash is stored. */
  readonly key: string;
  readonly summary: KeySummary;
}

export interface TenantSummary {
  readonly id: TenantId;
  readonly name: string;
  readonly createdAtMs: number;
}

export interface Page<Id> {
  /** The id of the last entry of the previous page. */
  readonly after?: Id;
  readonly limit: number;
}

/** The record of the request that makes a key, which is written with the key. */
export type RecordOfKey = (made: KeySummary) => EffectRecord;

/** No other operator's key gives access to the routes of owners, so no key could be created or revoked afterwards. */
export class LastOwnerKeyError extends Error {
  override readonly name = 'LastOwnerKeyError';
}

/** Tenants, and the keys of tenants and operators, for an operator. */
export interface KeyAdministration {
  /** A page of all tenants, by their ids. */
  pageOfTenants(page: Page<TenantId>): Promise<readonly TenantSummary[]>;
  /** A page of the keys of a tenant, or of operators, by their ids. */
  pageOfKeys(owner: TenantId | undefined, page: Page<KeyId>): Promise<readonly KeySummary[]>;
  summaryOf(id: KeyId): Promise<KeySummary | undefined>;
  /**
   * @returns false if the key does not exist or was revoked before
   * @throws LastOwnerKeyError if an operator tries to revoke the only valid key of an owner
   */
  revokeKey(id: KeyId): Promise<boolean>;
  /** @returns undefined if the tenant does not exist, or there is a record of the request; then nothing was written */
  makeApiKey(wanted: NewApiKey, recordOf?: RecordOfKey): Promise<MadeKey | undefined>;
  /**
   * Replaces a key by a new one with the same name, rights and lifetime. The old one stays valid for the overlap, so
   * that its user can change over. Of two concurrent replacements, the first wins: a key is replaced once.
   *
   * @param overlapSeconds 0 revokes the old key immediately
   * @returns undefined if there is no such valid key, it was replaced before, or there is a record of the request
   */
  makeSuccessor(id: KeyId, overlapSeconds: number, recordOf?: RecordOfKey): Promise<MadeKey | undefined>;
}
