import type { ListedObject, Manifest } from '../domain/manifest.ts';

export type ReadManifest = { readonly object: string } & (
  | { readonly kind: 'read'; readonly manifest: Manifest }
  | { readonly kind: 'unreadable'; readonly because: string }
);

export interface Manifests {
  newest(): Promise<ReadManifest | undefined>;
  /** Lists manifests in ascending order, after the one with the key `object`. */
  after(object: string, most: number): Promise<readonly ReadManifest[]>;
  read(number: number): Promise<ReadManifest | undefined>;
  /** @returns `there` when another writer has used the number */
  write(manifest: Manifest): Promise<'written' | 'there'>;
  /** Lists the keys of objects that contain lines, in ascending order. */
  objectsAfter(after: string, most: number): Promise<readonly string[]>;
  describe(object: string): Promise<ListedObject>;
}
