import * as z from 'zod';
import { defined } from '../../kernel/defined.ts';
import { systemDigest } from '../../kernel/platform/platform.ts';
import { type ArchiveObject, LINES_PREFIX } from '../domain/archive-object.ts';
import {
  type LineMark,
  type ListedObject,
  MANIFEST_VERSION,
  MANIFESTS_PREFIX,
  type Manifest,
  manifestName,
  manifestText,
  numberOfManifest,
} from '../domain/manifest.ts';
import type { ArchiveObjects } from '../use/archive-lines.ts';
import type { Manifests, ReadManifest } from '../use/manifests.ts';
import type { StoredObjects } from '../use/stored-objects.ts';
import { reasonOf } from './read-chain-row.ts';
import { readLine } from './read-line.ts';

const digestHex = z.string().regex(/^[0-9a-f]{64}$/);
const time = z.iso.datetime().transform((text) => Date.parse(text));
const mark = z
  .strictObject({ at: time, sequence: z.string().exactOptional(), event: z.string().exactOptional() })
  .transform(({ at: atMs, ...place }) => ({ atMs, ...place }));
const storedManifest = z.strictObject({
  hash: digestHex,
  signature: z.base64().exactOptional(),
  manifest: z
    .strictObject({
      v: z.literal(MANIFEST_VERSION),
      number: z.int().min(1),
      at: time,
      objects: z.array(
        z.strictObject({ name: z.string(), lines: z.int(), first: mark.exactOptional(), last: mark.exactOptional() }),
      ),
      isPart: z.boolean(),
      previous: digestHex,
    })
    .transform(({ v: _version, at: atMs, ...content }) => ({ atMs, ...content })),
});

/** Number of keys that are searched for the next manifest. */
const A_FEW = 10;

export class StoredManifests implements Manifests {
  readonly #objects: StoredObjects & Partial<ArchiveObjects>;

  /** @param objects must have `put` if manifests are written */
  constructor(objects: StoredObjects & Partial<ArchiveObjects>) {
    this.#objects = objects;
  }

  /**
   * S3 lists keys only in ascending order, so the search doubles its step until no later key exists, and then halves
   * it.
   */
  async newest(): Promise<ReadManifest | undefined> {
    let last = await this.#firstAfter(0);
    let isFarther = true;
    for (let step = 1; last !== undefined; ) {
      const next: number | undefined = await this.#firstAfter(last + step - 1);
      if (next === undefined && step === 1) return this.read(last);
      isFarther &&= next !== undefined;
      last = next ?? last;
      step = isFarther ? 2 * step : Math.max(1, step / 2);
    }
    return undefined;
  }

  async #firstAfter(number: number): Promise<number | undefined> {
    const names = await this.#objects.names(MANIFESTS_PREFIX, manifestName(number), A_FEW);
    return names.map(numberOfManifest).find((each) => each !== undefined);
  }

  async after(object: string, most: number): Promise<readonly ReadManifest[]> {
    const names = await this.#objects.names(MANIFESTS_PREFIX, object, most);
    return Promise.all(
      names.map(async (name) => {
        const number = numberOfManifest(name);
        const because = number === undefined ? 'its key is not the key of a manifest' : 'the object was removed';
        const read = number === undefined ? undefined : await this.read(number);
        return read ?? { kind: 'unreadable', object: name, because };
      }),
    );
  }

  async read(number: number): Promise<ReadManifest | undefined> {
    const object = manifestName(number);
    const text = await this.#objects.text(object);
    if (text === undefined) return undefined;
    try {
      return { kind: 'read', object, manifest: readManifest(text, number) };
    } catch (error) {
      return { kind: 'unreadable', object, because: reasonOf(error) };
    }
  }

  async write(manifest: Manifest): Promise<'written' | 'there'> {
    const text = manifestText(systemDigest, manifest);
    const object: ArchiveObject = { name: manifestName(manifest.number), text, sha256: systemDigest.sha256(text) };
    if (this.#objects.put === undefined) throw new Error('these manifests are read-only');
    return this.#objects.put(object);
  }

  objectsAfter(after: string, most: number): Promise<readonly string[]> {
    return this.#objects.names(LINES_PREFIX, after, most);
  }

  async describe(name: string): Promise<ListedObject> {
    const lines = ((await this.#objects.text(name)) ?? '').split('\n').slice(0, -1);
    const [first, last] = [markOf(lines[0]), markOf(lines.at(-1))];
    return {
      name,
      lines: lines.length,
      ...defined({ first, last }),
    };
  }
}

function readManifest(text: string, number: number): Manifest {
  const { manifest: content, ...signed } = storedManifest.parse(JSON.parse(text));
  const manifest = { ...content, ...signed };
  if (content.number !== number) throw new Error(`it contains the manifest ${content.number}`);
  // A manifest has only one valid text, so any changed byte is detected.
  if (manifestText(systemDigest, manifest) !== text) throw new Error('its text is not in the canonical form');
  return manifest;
}

/** @returns undefined for an unreadable line, because the verification of the object reports it */
function markOf(text: string | undefined): LineMark | undefined {
  try {
    const { atMs, sequence, event } = readLine(text ?? '');
    return { atMs, ...defined({ sequence, event }) };
  } catch {
    return undefined;
  }
}
