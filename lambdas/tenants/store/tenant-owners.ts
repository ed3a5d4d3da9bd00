import { type DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { type Mode, type TenantId, tenantId } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { failOnUnreadable, readableRows, type Unreadable } from '../../kernel/platform/queue-rows.ts';
import { rowsAfter } from '../../kernel/platform/rows-after.ts';
import type { IsTenant, Owner, Owners } from '../owners.ts';

/**
 * The single partition of all owners. Each row takes about a hundred bytes, and is written only when an API key is
 * created.
 */
const OWNERS = RegistryRow.owners;

const ownerItem = z.object({
  [KeyAttribute.sort]: z.string(),
  tenantId: z.string(),
  mode: z.enum(['test', 'live']),
});

/** Returns the row that states that a tenant may have payments in a mode. Writing the row again has no effect. */
export function ownerRow(tenant: TenantId, mode: Mode): Record<string, string> {
  return {
    [KeyAttribute.partition]: OWNERS,
    [KeyAttribute.sort]: `${tenant}#${mode}`,
    tenantId: tenant,
    mode,
  };
}

/** Lists the rows that {@link ownerRow} builds, without a scan. */
export class DynamoDbOwners implements Owners {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;
  readonly #unreadable: Unreadable;

  /** @param unreadable called for each row that cannot be parsed @default the read fails */
  constructor(
    client: DynamoDBDocumentClient,
    registryTable: string,
    pacing: Pacing,
    unreadable: Unreadable = failOnUnreadable,
  ) {
    this.#client = client;
    this.#table = registryTable;
    this.#pacing = pacing;
    this.#unreadable = unreadable;
  }

  async list(
    after: string | undefined,
    limit: number,
  ): Promise<readonly { readonly name: string; readonly owner: Owner }[]> {
    const pages = { table: this.#table, partition: OWNERS, pacing: this.#pacing };
    const found: ReturnType<typeof parseOwner>[] = [];
    // Skip unreadable rows and read further rows instead, because callers treat a short page as the last one.
    for (let from = after, isMore = true; isMore && found.length < limit; ) {
      const page = { after: from, limit: limit - found.length };
      const items = await rowsAfter(this.#client, pages, page);
      found.push(...readableRows(items, parseOwner, this.#unreadable));
      from = String(items.at(-1)?.[KeyAttribute.sort]);
      isMore = items.length === page.limit;
    }
    return found;
  }
}

export function parseOwner(item: Record<string, unknown>): { readonly name: string; readonly owner: Owner } {
  const row = ownerItem.parse(item);
  return { name: row[KeyAttribute.sort], owner: { tenantId: tenantId(row.tenantId), mode: row.mode } };
}

const MAX_CACHED = 1_000;

export function tenantRowKey(id: TenantId): Record<string, string> {
  return { [KeyAttribute.partition]: RegistryRow.tenants, [KeyAttribute.sort]: id };
}

export function knownTenants(client: DynamoDBDocumentClient, TableName: string, pacing: Pacing): IsTenant {
  const known = new Set<TenantId>();
  return async (id) => {
    if (known.has(id)) return true;
    const get = { TableName, Key: tenantRowKey(id), ProjectionExpression: KeyAttribute.sort, ConsistentRead: true };
    const { Item } = await readWithRetries(pacing, () => client.send(new GetCommand(get)));
    if (Item === undefined) return false;
    if (known.size >= MAX_CACHED) known.clear();
    known.add(id);
    return true;
  };
}
