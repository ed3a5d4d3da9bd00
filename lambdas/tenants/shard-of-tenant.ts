import { createHash } from 'node:crypto';
import { FIRST_SHARD } from '../kernel/contract/databases.ts';
import type { TenantId } from '../kernel/ids.ts';

/** Chooses the database of a new tenant. @param names the databases of the deployment, at least one */
export function shardOfNewTenant(id: TenantId, names: readonly string[]): string {
  const number = createHash('sha256').update(id).digest().readUInt32BE();
  return names[number % names.length] ?? FIRST_SHARD;
}
