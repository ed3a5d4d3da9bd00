import type { Digest } from '../../kernel/digest.ts';
import { hex, NO_PREDECESSOR } from '../../kernel/hash-chain.ts';
import { hourPath, LATE_PREFIX, LINES_PREFIX } from './archive-object.ts';
import { OLDER_BY_MS } from './object-times.ts';

export const MANIFESTS_PREFIX = 'manifests/';

/** A reader refuses manifests of other versions. */
export const MANIFEST_VERSION = 1;

const HOUR_MS = 60 * 60_000;
/**
 * Number of digits in the key of a manifest, so that keys sort by number. Enough for 11,000 years of hourly manifests.
 */
const DIGITS = 8;
const MANIFEST_NAME = new RegExp(`^${MANIFESTS_PREFIX}(?<number>\\d{${DIGITS}})\\.json$`);

/**
 * The archive writes an object only if its key does not exist, so if two writers use the same number, only one
 * succeeds.
 */
export function manifestName(number: number): string {
  return `${MANIFESTS_PREFIX}${String(number).padStart(DIGITS, '0')}.json`;
}

export function numberOfManifest(name: string): number | undefined {
  const { number } = MANIFEST_NAME.exec(name)?.groups ?? {};
  return number === undefined ? undefined : Number(number);
}

/** The fields by which a manifest identifies a line of an object. */
export interface LineMark {
  /** Time of the write that the line reports, in Unix milliseconds with a resolution of one second. */
  readonly atMs: number;
  readonly sequence?: string;
  /** Absent for entries of the activity log. */
  readonly event?: string;
}

/** The key contains the SHA-256 of the content. */
export interface ListedObject {
  readonly name: string;
  readonly lines: number;
  /** The object's first line; absent when it cannot be read. */
  readonly first?: LineMark;
  readonly last?: LineMark;
}

/**
 * The content of a manifest that its hash and its signature cover: the objects that were added to the archive since the
 * previous manifest.
 */
export interface ManifestContent {
  /** Number of the manifest, from 1, without gaps. */
  readonly number: number;
  /** Time at which the objects were listed, in Unix milliseconds. */
  readonly atMs: number;
  /** The objects, in ascending order of their keys. Each object is in only one manifest. */
  readonly objects: readonly ListedObject[];
  /** True if the list has the maximum length; the next manifest then lists the remaining objects. */
  readonly isPart: boolean;
  /** The hash of the previous manifest in hexadecimal; 32 zero bytes for the first manifest. */
  readonly previous: string;
}

export interface Manifest extends ManifestContent {
  /** SHA-256 of {@link hashedText}, in hexadecimal. */
  readonly hash: string;
  /** ECDSA over {@link hashedText} with SHA-256 (DER, base64). Absent when no key is configured. */
  readonly signature?: string;
}

export function hashedText(digest: Digest, content: ManifestContent): string {
  const { number, objects, isPart, previous } = content;
  const listed = objects.map(({ first, last, ...object }) => ({ ...object, ...marked({ first, last }) }));
  const at = new Date(content.atMs).toISOString();
  return digest.canonicalJson({ v: MANIFEST_VERSION, number, at, objects: listed, isPart, previous });
}

function marked(marks: Readonly<Record<string, LineMark | undefined>>) {
  return Object.fromEntries(
    Object.entries(marks).flatMap(([name, mark]) => {
      if (mark === undefined) return [];
      const { atMs, ...place } = mark;
      return [[name, { at: new Date(atMs).toISOString(), ...place }]];
    }),
  );
}

export function manifestText(digest: Digest, { hash, signature, ...content }: Manifest): string {
  const signed = signature === undefined ? '' : `,"signature":${JSON.stringify(signature)}`;
  return `{"hash":"${hash}","manifest":${hashedText(digest, content)}${signed}}\n`;
}

export function manifestHash(digest: Digest, content: ManifestContent): string {
  return hex(digest.sha256(hashedText(digest, content)));
}

/** Returns the value of `previous` in the manifest that follows the given manifest. */
export function previousOf(before: Manifest | undefined): string {
  return before?.hash ?? hex(NO_PREDECESSOR);
}

/**
 * Returns the key after which the search for the next manifest's objects begins. An object can be written up to 22
 * hours after the hour in its key, so the search begins 23 hours before the last manifest (one hour as a margin). If
 * the last manifest is incomplete and its last key is earlier, the search begins after that key:
 *
 *   22 hours and one more   last manifest   now
 *   |-----------------------------|----------|
 *   delayed objects               new objects
 *
 * @param before the last manifest; undefined if there is none, so that the search begins with the first object
 */
export function listedAfter(before: Manifest | undefined): string {
  if (before === undefined) return LINES_PREFIX;
  const again = `${LINES_PREFIX}${hourPath(before.atMs - OLDER_BY_MS - HOUR_MS)}`;
  const last = before.isPart ? before.objects.at(-1)?.name : undefined;
  return last !== undefined && last < again ? last : again;
}

/**
 * Returns the earliest time at which a manifest can list an object whose key sorts after this text. Unix milliseconds.
 */
export function listedFromMs(after: string): number {
  return (hourOfName(after) ?? HOUR_MS) - HOUR_MS;
}

/** Unix milliseconds; undefined for text that contains no hour. */
export function hourOfName(name: string): number | undefined {
  const [, year, month, day, hour] = /^ledger\/(?:late\/)?(\d{4})\/(\d{2})\/(\d{2})\/(\d{2})/.exec(name) ?? [];
  return year === undefined ? undefined : Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour));
}

/**
 * Returns whether a manifest must already list the object with this key, provided that the archiver wrote the object in
 * time.
 */
export function mustBeListedIn(name: string, newest: Manifest): boolean {
  const prefix = name < LATE_PREFIX ? LINES_PREFIX : LATE_PREFIX;
  return !newest.isPart && name < `${prefix}${hourPath(newest.atMs - OLDER_BY_MS - HOUR_MS)}`;
}

export function isOfHour(newest: Manifest, nowMs: number): boolean {
  return hourPath(newest.atMs) >= hourPath(nowMs);
}
