import * as z from 'zod';
import { BASE32_ALPHABET } from '../digest.ts';

/** Items are validated when they are read: code must never act on a row that it cannot parse. */
export type Item = Record<string, unknown>;

/** Number of characters of an id that select its shard, at five bits each. */
const SHARD_CHARACTERS = 4;

/** The last characters of the id are bits of a digest, so no further hash is needed. */
export function shardOf(id: string, count: number): number {
  let bits = 0;
  for (const character of id.slice(-SHARD_CHARACTERS)) {
    bits = bits * BASE32_ALPHABET.length + Math.max(0, BASE32_ALPHABET.indexOf(character));
  }
  return bits % count;
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
