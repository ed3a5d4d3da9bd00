import type { Digest } from '../../kernel/digest.ts';
import { TerminalError } from '../../kernel/faults.ts';
import type { Clock } from '../../kernel/world.ts';
import { LATE_PREFIX } from '../domain/archive-object.ts';
import {
  hashedText,
  hourOfName,
  isOfHour,
  type ListedObject,
  listedAfter,
  listedFromMs,
  type Manifest,
  type ManifestContent,
  manifestHash,
  manifestName,
  previousOf,
} from '../domain/manifest.ts';
import type { Manifests, ReadManifest } from './manifests.ts';

/** Signs the hash of a manifest. @returns the ECDSA signature, DER-encoded */
export type Sign = (hash: Uint8Array) => Promise<Uint8Array>;

export interface WriteManifestsTools {
  readonly manifests: Manifests;
  readonly digest: Digest;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** @default manifests have no signature */
  readonly sign?: Sign | undefined;
  readonly most?: number;
}

/** Each object takes about 400 bytes, so a manifest has at most about 400 KB. */
const MAX = 1_000;
const NAMES = 1_000;
/** Maximum number of objects that are read concurrently. Each object is at most 6 MB. */
const AT_ONCE = 8;

/**
 * Writes the manifest of this hour, unless it exists. After a long pause, several manifests are written; all but the
 * last have the maximum number of objects.
 *
 * There is no lock. The key of a manifest is derived from its number, and the archive writes an object only if its key
 * does not exist, so the slower of two concurrent writers writes nothing:
 *
 *   writer A   reads 41 ── lists ───────────────── writes 42: exists already
 *   writer B        reads 41 ── lists ── writes 42
 *
 * @param deadlineMs time after which no manifest is begun, in Unix milliseconds; the next hourly run continues
 * @throws TerminalError when the newest manifest cannot be read, or an earlier one that is needed is missing or
 * unreadable, because a new manifest must not follow a manifest that may have been changed
 */
export async function writeManifests(tools: WriteManifestsTools, deadlineMs: number): Promise<readonly Manifest[]> {
  const { manifests, clock } = tools;
  const written: Manifest[] = [];
  for (;;) {
    const before = manifestOf(await manifests.newest());
    const nowMs = clock.nowMs();
    if (nowMs > deadlineMs) return written;
    if (before !== undefined && !before.isPart && isOfHour(before, nowMs)) return written;
    const manifest = await nextManifest(tools, before, nowMs);
    // If another writer has used the number, the loop reads the newest manifest again, and finds this hour's manifest.
    if ((await manifests.write(manifest)) === 'written') written.push(manifest);
  }
}

async function nextManifest(
  { manifests, digest, sign, most = MAX }: WriteManifestsTools,
  before: Manifest | undefined,
  nowMs: number,
): Promise<Manifest> {
  const { names, isPart } = await newNames(manifests, before, most);
  const objects: ListedObject[] = [];
  for (let begin = 0; begin < names.length; begin += AT_ONCE)
    objects.push(...(await Promise.all(names.slice(begin, begin + AT_ONCE).map((name) => manifests.describe(name)))));
  const content: ManifestContent = {
    number: (before?.number ?? 0) + 1,
    atMs: Math.max(nowMs, before?.atMs ?? 0),
    objects,
    isPart,
    previous: previousOf(before),
  };
  const hash = manifestHash(digest, content);
  if (sign === undefined) return { ...content, hash };
  return {
    ...content,
    hash,
    signature: Buffer.from(await sign(digest.sha256(hashedText(digest, content)))).toString('base64'),
  };
}

async function newNames(manifests: Manifests, before: Manifest | undefined, most: number) {
  let after = listedAfter(before);
  const whole = await lastWhole(manifests, before);
  const lateFromMs = whole === undefined ? 0 : listedFromMs(listedAfter(whole));
  const listed = await listedSince(manifests, before, Math.min(listedFromMs(after), lateFromMs));
  // Treat late objects of earlier hours as listed, because the manifests that list them were not read.
  const isNew = (name: string): boolean =>
    !listed.has(name) && (name < LATE_PREFIX || (hourOfName(name) ?? lateFromMs) >= lateFromMs);
  const found: string[] = [];
  for (;;) {
    const names = await manifests.objectsAfter(after, NAMES);
    found.push(...names.filter(isNew));
    if (found.length > most) return { names: found.slice(0, most), isPart: true };
    after = names.at(-1) ?? after;
    if (names.length < NAMES) return { names: found, isPart: false };
  }
}

/** Returns the last manifest whose list is complete; undefined if there is none. */
async function lastWhole(manifests: Manifests, newest: Manifest | undefined): Promise<Manifest | undefined> {
  let each = newest;
  while (each?.isPart) each = each.number === 1 ? undefined : await earlierThan(manifests, each);
  return each;
}

async function earlierThan(manifests: Manifests, { number }: Manifest): Promise<Manifest> {
  const earlier = manifestOf(await manifests.read(number - 1));
  if (earlier === undefined) throw unreadable(manifestName(number - 1), 'it is missing');
  return earlier;
}

/** Returns the keys of all objects in the manifests since `fromMs`, and in the last manifest before `fromMs`. */
async function listedSince(manifests: Manifests, newest: Manifest | undefined, fromMs: number): Promise<Set<string>> {
  const listed = new Set<string>();
  for (let each = newest; each !== undefined; ) {
    for (const { name } of each.objects) listed.add(name);
    if (each.atMs < fromMs || each.number === 1) break;
    each = await earlierThan(manifests, each);
  }
  return listed;
}

function manifestOf(read: ReadManifest | undefined): Manifest | undefined {
  if (read === undefined || read.kind === 'read') return read?.manifest;
  throw unreadable(read.object, read.because);
}

function unreadable(object: string, because: string): TerminalError {
  return new TerminalError('manifest_unreadable', `cannot write a manifest after ${object}: ${because}`);
}
