import type { EmailRow } from './contract/rows.ts';
import type { Mode, TenantId } from './ids.ts';
import { listShardOf, sharded } from './places.ts';

/**
 * Keyed hashes of e-mail addresses, by which payments and orders are searched. Without the deployment's keys, a hash
 * cannot be used to check a guess of the address.
 */
export interface EmailHashes {
  /**
   * Returns the hashes of an address, ignoring case. Write the first hash to new rows; search with all of them.
   *
   * @throws RetryableError when the keys cannot be read at the moment
   */
  of(
    owner: { readonly tenantId: TenantId; readonly mode: Mode },
    email: string,
  ): Promise<readonly [string, ...string[]]>;
}

/**
 * Returns no hash if the keys cannot be read now and the request has already begun: the row then exists, so completing
 * the request does not need the hash.
 *
 * @throws as {@link EmailHashes.of}, when the request has not begun
 */
export async function hashOfNew(
  hashes: EmailHashes,
  owner: Parameters<EmailHashes['of']>[0],
  email: string,
  hasBegun: () => Promise<boolean>,
): Promise<{ readonly emailHash?: string }> {
  try {
    const [emailHash] = await hashes.of(owner, email);
    return { emailHash };
  } catch (error) {
    if (await hasBegun()) return {};
    throw error;
  }
}

type EmailKind = (typeof EmailRow)[keyof typeof EmailRow];

export function emailPartition(kind: EmailKind, hash: string, id: string): string {
  return partitionOf(kind, hash, listShardOf(id));
}

export function emailPartitions(kind: EmailKind, hashes: readonly string[]): readonly string[] {
  return hashes.flatMap((hash) => sharded((shard) => partitionOf(kind, hash, shard)));
}

/** Undefined for a name without a hash. */
export function hashInPartition(partition: string): string | undefined {
  return partition.split('#')[1];
}

function partitionOf(kind: EmailKind, hash: string, shard: number): string {
  return `${kind}${hash}#${shard}`;
}
