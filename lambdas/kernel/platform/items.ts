import { INDEX_SHARDS } from '../contract/tables.ts';
import { BASE32_ALPHABET } from '../digest.ts';

/** What the store holds, checked when read: a row that this code cannot understand must never be acted on. */
export type Item = Record<string, unknown>;

/** The last letter of a derived id is five bits of its digest: as good as any other hash, and free. */
export function shardOf(id: string): number {
  return BASE32_ALPHABET.indexOf(id.at(-1) ?? 'a') % INDEX_SHARDS;
}
