import type { Scope } from '../kernel/contract/api.ts';
import type { Mode, TenantId } from '../kernel/ids.ts';

export interface ApiKeyRecord {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly scopes: readonly Scope[];
  readonly revokedAtMs?: number;
}

export interface ApiKeyRegistry {
  /** @param keyHash lower-case hexadecimal SHA-256 of the presented key */
  findByHash(keyHash: string): Promise<ApiKeyRecord | undefined>;
}
