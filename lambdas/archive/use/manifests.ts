import type { ListedObject, Manifest } from '../domain/manifest.ts';

/** An object under the prefix of manifests. */
export type ReadManifest = { readonly object: string } & (
  | { readonly kind: 'read'; readonly manifest: Manifest }
  | { readonly kind: 'unreadable'; readonly because: string }
);

/** The manifests of the archive. */
export interface Manifests {
  /** @returns undefined when there is none */
  newest(): Promise<ReadManifest | undefined>;
  /** In ascending order; at most `most`. @param object the name of the manifest that precedes them */
  after(object: string, most: number): Promise<readonly ReadManifest[]>;
  /** @returns undefined when there is none of this number */
  read(number: number): Promise<ReadManifest | undefined>;
  /** @returns `there` when another writer has used the number */
  write(manifest: Manifest): Promise<'written' | 'there'>;
  /** Names of objects with lines, in ascending order. */
  objectsAfter(after: string, most: number): Promise<readonly string[]>;
  /** Reads an object and counts its lines. */
  describe(object: string): Promise<ListedObject>;
}
