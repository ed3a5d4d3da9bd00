import * as z from 'zod';
import { INDEX_SHARDS } from '../contract/tables.ts';
import { BASE32_ALPHABET } from '../digest.ts';

/** An item of the store, validated when it is read. Code must never act on a row that it cannot parse. */
export type Item = Record<string, unknown>;

/**
 * Returns the shard of a derived id. The last character of the id is five bits of a digest, so no further hash is
 * needed.
 */
export function shardOf(id: string): number {
  return BASE32_ALPHABET.indexOf(id.at(-1) ?? 'a') % INDEX_SHARDS;
}

/**
 * Checks that the schema of a row, or of an object in a row, matches `T`: the schema must list every field of `T`,
 * including optional ones, and no other field. Adding a field only to `T` is a compile error, because the field would
 * be written but lost by the next read.
 *
 *     const failureItem = itemSchema<Failure>()({ code: z.string(), message: z.string() });
 */
export function itemSchema<T extends object>() {
  return <Shape extends Record<keyof T, z.ZodType>>(
    shape: Shape & { readonly [Unknown in Exclude<keyof Shape, keyof T>]: never },
  ) => z.object<Shape>(shape);
}
