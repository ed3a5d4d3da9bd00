import type { Digest } from '../../kernel/digest.ts';
import { MANIFESTS_LATE_HOURS } from '../contract.ts';
import { LINES_PREFIX } from '../domain/archive-object.ts';
import type { Bounds } from '../domain/judge-chain.ts';
import {
  hashedText,
  listedFromMs,
  MANIFESTS_PREFIX,
  type Manifest,
  manifestHash,
  manifestName,
  mustBeListedIn,
  numberOfManifest,
  previousOf,
} from '../domain/manifest.ts';
import { beginOf, continueAfter, isOfTime } from '../domain/object-times.ts';
import type { Manifests, ReadManifest } from './manifests.ts';

/** `object` is the S3 key of the affected manifest or object. */
export type ManifestFinding =
  /** `next` is the key of the next existing manifest; absent if the archive has no manifest at all. */
  | { readonly kind: 'manifest_missing'; readonly object: string; readonly next?: string }
  /** The manifest cannot be read, or its hash, its signature or its link to the previous manifest is invalid. */
  | { readonly kind: 'manifest_broken'; readonly object: string; readonly because: string }
  /** The newest manifest is too old: later manifests were removed or not written. */
  | { readonly kind: 'manifests_end'; readonly object: string; readonly at: string }
  | { readonly kind: 'object_missing'; readonly object: string; readonly manifest: string }
  /**
   * No manifest lists the object: the archiver did not write it, or wrote it more than 22 hours after the hour in its
   * key.
   */
  | { readonly kind: 'object_unlisted'; readonly object: string };

export interface VerifyManifestsTools {
  readonly manifests: Manifests;
  readonly digest: Digest;
  /** @default signatures are not checked */
  readonly isSigned?: ((text: string, signature: string) => boolean) | undefined;
  /** Called after each page of manifests, with the number of manifests read so far. */
  readonly report?: (read: number) => void;
}

export interface VerifiedManifests {
  readonly manifests: number;
  /** Number of listed objects that exist. */
  readonly objects: number;
  readonly findings: readonly ManifestFinding[];
}

const PAGE = 16;
const NAMES = 1_000;
export const MANIFESTS_LATE_MS = MANIFESTS_LATE_HOURS * 60 * 60_000;

/**
 * Checks that no manifest was changed or removed, including the newest ones, and that the manifests list exactly the
 * existing objects.
 *
 * @param bounds the time range of the objects to check, and of the manifests that can list these objects
 */
export async function verifyManifests(
  tools: VerifyManifestsTools,
  bounds: Bounds,
  nowMs: number,
): Promise<VerifiedManifests> {
  const { findings, listed, newest, read } = await readManifests(tools, bounds);
  if (newest === undefined && findings.length === 0) {
    const [first] = await tools.manifests.objectsAfter(LINES_PREFIX, 1);
    // An archive has no manifest until its first hour has ended.
    if (first === undefined || listedFromMs(first) > nowMs - MANIFESTS_LATE_MS)
      return { manifests: 0, objects: 0, findings };
    return { manifests: 0, objects: 0, findings: [{ kind: 'manifest_missing', object: manifestName(1) }] };
  }
  // After a finding about a manifest, report no object as unlisted: the affected manifest may list it.
  const unlistedBefore = findings.length === 0 ? newest : undefined;
  const compared = await compareObjects(tools.manifests, listed, unlistedBefore, bounds);
  if (newest !== undefined && newest.atMs < nowMs - MANIFESTS_LATE_MS)
    findings.push({
      kind: 'manifests_end',
      object: manifestName(newest.number),
      at: new Date(newest.atMs).toISOString(),
    });
  return { manifests: read, objects: compared.objects, findings: [...findings, ...compared.findings] };
}

interface Expected {
  readonly number: number;
  /** The expected `previous`; undefined after an invalid manifest, which was already reported. */
  readonly previous?: string | undefined;
}

async function readManifests(tools: VerifyManifestsTools, bounds: Bounds) {
  const { manifests, report } = tools;
  const findings: ManifestFinding[] = [];
  /** The key of the manifest that lists an object, by the key of the object. */
  const listed = new Map<string, string>();
  let newest = await lastBefore(tools, listedFromMs(beginOf(bounds)));
  let expected = expectedAfter(newest);
  let after = newest === undefined ? MANIFESTS_PREFIX : manifestName(newest.number);
  for (let read = 0; ; ) {
    const page = await manifests.after(after, PAGE);
    for (const each of page) {
      const found = judge(tools, each, expected);
      findings.push(...found);
      const number = numberOfManifest(each.object);
      if (number === undefined) continue;
      const holds = found.every(({ kind }) => kind === 'manifest_missing');
      expected = each.kind === 'read' && holds ? expectedAfter(each.manifest) : { number: number + 1 };
      if (each.kind !== 'read' || !holds) continue;
      newest = each.manifest;
      for (const { name } of newest.objects) if (!listed.has(name)) listed.set(name, each.object);
    }
    read += page.length;
    report?.(read);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return { findings, listed, newest, read };
    after = last.object;
  }
}

function expectedAfter(before: Manifest | undefined): Expected {
  return { number: (before?.number ?? 0) + 1, previous: previousOf(before) };
}

function judge(
  { digest, isSigned }: VerifyManifestsTools,
  each: ReadManifest,
  expected: Expected,
): readonly ManifestFinding[] {
  const { object } = each;
  const broken = (because: string) => ({ kind: 'manifest_broken' as const, object, because });
  if (each.kind === 'unreadable') return [broken(each.because)];
  const { manifest } = each;
  const isNext = manifest.number === expected.number;
  const found: ManifestFinding[] = isNext
    ? []
    : [{ kind: 'manifest_missing', object: manifestName(expected.number), next: object }];
  if (manifestHash(digest, manifest) !== manifest.hash)
    return [...found, broken('the content does not match its hash')];
  if (isNext && expected.previous !== undefined && manifest.previous !== expected.previous)
    return [...found, broken('it does not continue the previous manifest')];
  if (isSigned === undefined) return found;
  if (manifest.signature === undefined) return [...found, broken('it has no signature')];
  const holds = isSigned(hashedText(digest, manifest), manifest.signature);
  return holds ? found : [...found, broken('the signature does not match this key and content')];
}

/** Returns whether this manifest has the number 1 and is valid. */
export function isFirst(tools: VerifyManifestsTools, manifest: ReadManifest): boolean {
  return judge(tools, manifest, expectedAfter(undefined)).length === 0;
}

/**
 * Returns the last manifest that was written before this time, found by a binary search over the numbers. A manifest
 * with a wrong time does not go unnoticed: this function checks the manifest that it returns, and the caller checks all
 * later ones.
 *
 * @returns undefined when there is no earlier manifest, or when the search reads an unreadable or invalid manifest; the
 * caller then checks all manifests, and reports that one
 */
async function lastBefore(tools: VerifyManifestsTools, atMs: number): Promise<Manifest | undefined> {
  const { manifests } = tools;
  const newest = await manifests.newest();
  if (atMs <= 0 || newest?.kind !== 'read') return undefined;
  let found: Extract<ReadManifest, { kind: 'read' }> | undefined;
  for (let low = 1, high = newest.manifest.number; low <= high; ) {
    const middle = Math.floor((low + high) / 2);
    const read = await manifests.read(middle);
    if (read?.kind !== 'read') return undefined;
    if (read.manifest.atMs < atMs) found = read;
    if (read.manifest.atMs < atMs) low = middle + 1;
    else high = middle - 1;
  }
  if (found === undefined) return undefined;
  const { manifest } = found;
  return judge(tools, found, { number: manifest.number }).length === 0 ? manifest : undefined;
}

async function compareObjects(
  manifests: Manifests,
  listed: ReadonlyMap<string, string>,
  newest: Manifest | undefined,
  bounds: Bounds,
): Promise<{ readonly objects: number; readonly findings: readonly ManifestFinding[] }> {
  const findings: ManifestFinding[] = [];
  const missing = new Set([...listed.keys()].filter((name) => isOfTime(name, bounds)));
  let objects = 0;
  for (let after: string | undefined = beginOf(bounds); after !== undefined; ) {
    const names = await manifests.objectsAfter(after, NAMES);
    for (const name of names) {
      if (missing.delete(name)) objects += 1;
      else if (isOfTime(name, bounds) && newest !== undefined && !listed.has(name) && mustBeListedIn(name, newest))
        findings.push({ kind: 'object_unlisted', object: name });
    }
    after = continueAfter(names.length < NAMES ? undefined : names.at(-1), bounds);
  }
  for (const object of missing)
    findings.push({ kind: 'object_missing', object, manifest: listed.get(object) ?? MANIFESTS_PREFIX });
  return { objects, findings };
}
