import type { ViewOwner } from '../views/domain/views.ts';

/** Everybody who may have payments. */
export interface Owners {
  /**
   * In the order of their names, each under one that never changes.
   *
   * @param after the name of the last one that was had
   */
  list(
    after: string | undefined,
    limit: number,
  ): Promise<readonly { readonly name: string; readonly owner: ViewOwner }[]>;
}
