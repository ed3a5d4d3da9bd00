import * as z from 'zod';
import { INDEX_SHARDS } from '../contract/tables.ts';
import { BASE32_ALPHABET } from '../digest.ts';

/** What the store holds, checked when read: a row that this code cannot understand must never be acted on. */
export type Item = Record<string, unknown>;

/** The last letter of a derived id is five bits of its digest: as good as any other hash, and free. */
export function shardOf(id: string): number {
  return BASE32_ALPHABET.indexOf(id.at(-1) ?? 'a') % INDEX_SHARDS;
}

/**
 * The schema of a row, or of an object in one: it has each field of `T`, the optional ones included, and no other. A field that
 * is added to `T` alone does not compile: it would be written, and lost when it is read.
 *
 *     const failureItem = itemSchema<Failure>()({ code: z.string(), message: z.string() });
 */
export function itemSchema<T extends object>() {
  return <Shape extends Record<keyof T, z.ZodType>>(
    shape: Shape & { readonly [Unknown in Exclude<keyof Shape, keyof T>]: never },
  ) => z.object<Shape>(shape);
}
