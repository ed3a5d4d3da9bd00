import type { ListedObject, Manifest } from '../domain/manifest.ts';

/** An object under the manifest prefix: either a parsed manifest or unreadable. */
export type ReadManifest = { readonly object: string } & (
  | { readonly kind: 'read'; readonly manifest: Manifest }
  | { readonly kind: 'unreadable'; readonly because: string }
);

/** Reads and writes the manifests of the archive. */
export interface Manifests {
  /**
   * Reads the newest manifest.
   * @returns undefined when there is no manifest
   */
  newest(): Promise<ReadManifest | undefined>;
  /**
   * Lists manifests in ascending order.
   * @param object key of the manifest after which the list begins
   * @param most maximum number of manifests
   */
  after(object: string, most: number): Promise<readonly ReadManifest[]>;
  /**
   * Reads a manifest.
   * @returns undefined when no manifest has this number
   */
  read(number: number): Promise<ReadManifest | undefined>;
  /**
   * Writes a manifest.
   * @returns `there` when another writer has used the number
   */
  write(manifest: Manifest): Promise<'written' | 'there'>;
  /** Lists the keys of objects that contain lines, in ascending order. */
  objectsAfter(after: string, most: number): Promise<readonly string[]>;
  /** Reads an object, and returns its number of lines and the fields of its first and last line. */
  describe(object: string): Promise<ListedObject>;
}
