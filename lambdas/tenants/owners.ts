import type { Mode, TenantId } from '../kernel/ids.ts';

export interface Owner {
  readonly tenantId: TenantId;
  readonly mode: Mode;
}

/** Tenants are never deleted. @throws RetryableError if the registry cannot be read */
export type IsTenant = (id: TenantId) => Promise<boolean>;

/** An owner is a tenant in a mode in which it may have payments. */
export interface Owners {
  /**
   * Lists owners in the order of their names, which never change.
   *
   * @param after the last name of the previous page
   */
  list(after: string | undefined, limit: number): Promise<readonly { readonly name: string; readonly owner: Owner }[]>;
}
