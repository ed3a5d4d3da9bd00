import type { Mode, TenantId } from '../kernel/ids.ts';

export interface Owner {
  readonly tenantId: TenantId;
  readonly mode: Mode;
}

/** Everybody who may have payments. */
export interface Owners {
  /**
   * In the order of their names, each under one that never changes.
   *
   * @param after the name of the last one that was had
   */
  list(after: string | undefined, limit: number): Promise<readonly { readonly name: string; readonly owner: Owner }[]>;
}
