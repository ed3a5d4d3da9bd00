import type { KeyId } from '../kernel/cause.ts';
import type { Scope } from '../kernel/contract/api.ts';
import type { Mode, TenantId } from '../kernel/ids.ts';

export interface ApiKeyRecord {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly scopes: readonly Scope[];
  /** @default the key never expires */
  readonly expiresAtMs?: number;
  readonly revokedAtMs?: number;
}

export interface ApiKeyRegistry {
  /** @param keyHash lower-case hexadecimal SHA-256 of the presented key */
  findByHash(keyHash: string): Promise<ApiKeyRecord | undefined>;
  /** @param day `YYYY-MM-DD`, in UTC */
  noteUse(id: KeyId, day: string): Promise<void>;
}

export function isRevokedOrExpired(
  { revokedAtMs, expiresAtMs }: Pick<ApiKeyRecord, 'revokedAtMs' | 'expiresAtMs'>,
  nowMs: number,
): boolean {
  return revokedAtMs !== undefined || (expiresAtMs !== undefined && expiresAtMs <= nowMs);
}
