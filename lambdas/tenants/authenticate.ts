import { type KeyId, keyIdOf, type OperatorCause, type RequestCause } from '../kernel/cause.ts';
import type { Scope } from '../kernel/contract/api.ts';
import type { Digest } from '../kernel/digest.ts';
import type { Clock } from '../kernel/world.ts';
import { type ApiKeyRecord, type ApiKeyRegistry, isRevokedOrExpired } from './api-key-registry.ts';
import type { Owner } from './owners.ts';

/** A request has access only to the data of this tenant in this mode. */
export interface Caller extends Owner {
  /** The request's API key, or the operator who acts on behalf of the tenant. Recorded with the request's effects. */
  readonly by: Omit<RequestCause, 'requestId'> | Omit<OperatorCause, 'requestId'>;
  /** Identifies the operator, with the same value for all keys of one person. Absent for an API key. */
  readonly person?: string;
}

/**
 * The possible results of an authentication, in order of precedence. Every invalid key gets the same result, so that
 * the response reveals nothing about the key.
 */
export type Authentication =
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'insufficient_scope'; readonly caller: Caller }
  | { readonly kind: 'authenticated'; readonly caller: Caller };

export interface AuthenticateTools {
  readonly keys: ApiKeyRegistry;
  readonly found: FoundKeys<ApiKeyRecord>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly digest: Pick<Digest, 'sha256'>;
}

interface LookUpTools<Key> {
  readonly keys: Pick<ApiKeyRegistry, 'noteUse'> & { find(keyHash: string): Promise<Key | undefined> };
  readonly found: FoundKeys<Key>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/**
 * Time for which a process caches a key, in milliseconds, so that a replay needs no read. A revoked key may still be
 * accepted for this time.
 */
const FOUND_FOR_MS = 10_000;
/** Maximum number of cached keys, which together take at most a few hundred kilobytes. */
const MAX_FOUND = 500;

const BEARER = /^bearer +(?<token>\S+)$/i;
/** Matches an API key: at least 22 characters of base64url, which encode 128 bits. */
const API_KEY = /^sk_(?<mode>test|live)_[A-Za-z0-9_-]{22,200}$/;

/**
 * Parses the token of a request.
 * @param authorization the values of the Authorization header
 * @returns the token; empty if the header is missing, invalid or repeated
 */
export function bearerToken([value = '', ...others]: readonly string[]): string {
  return others.length > 0 ? '' : (BEARER.exec(value)?.groups?.['token'] ?? '');
}

/** @throws RetryableError if the registry cannot be read */
export async function authenticate(
  tools: AuthenticateTools,
  authorization: readonly string[],
  scope: Scope,
): Promise<Authentication> {
  const key = bearerToken(authorization);
  const mode = API_KEY.exec(key)?.groups?.['mode'];
  if (mode === undefined) return { kind: 'unauthorized' };
  const hash = tools.digest.sha256(key);
  const keyId = keyIdOf(hash);
  const { keys, found, clock } = tools;
  const find = (keyHash: string) => keys.findByHash(keyHash);
  const noteUse = (id: KeyId, day: string) => keys.noteUse(id, day);
  const record = await lookUp({ keys: { find, noteUse }, found, clock }, hex(hash), keyId);
  if (record === undefined || isRevokedOrExpired(record, clock.nowMs()) || record.mode !== mode) {
    return { kind: 'unauthorized' };
  }
  const caller = { tenantId: record.tenantId, mode: record.mode, by: { by: 'request', keyId } as const };
  return { kind: record.scopes.includes(scope) ? 'authenticated' : 'insufficient_scope', caller };
}

/** Also returns a revoked or expired key. */
export async function lookUp<Key extends Parameters<typeof isRevokedOrExpired>[0]>(
  { keys, found, clock }: LookUpTools<Key>,
  hash: string,
  id: KeyId,
): Promise<Key | undefined> {
  const readAtMs = clock.nowMs();
  const known = found.get(hash, readAtMs);
  if (known !== undefined) return known;
  const record = await keys.find(hash);
  const nowMs = clock.nowMs();
  if (record === undefined || isRevokedOrExpired(record, nowMs)) return record;
  // The key may have been revoked during the read, so its age in the cache counts from the start of the read.
  found.put(hash, record, readAtMs);
  const day = new Date(nowMs).toISOString().slice(0, 'YYYY-MM-DD'.length);
  if (!found.isNoted(hash, day)) {
    // If the use cannot be stored, the request still succeeds. Another process stores the use, or this process stores
    // the next day's use.
    await keys.noteUse(id, day).catch(() => undefined);
    found.noted(hash, day);
  }
  return record;
}

/** Unknown keys are not cached, because any client could fill the cache with them. */
export class FoundKeys<Key> {
  readonly #found = new Map<string, { readonly record: Key; readonly atMs: number }>();
  /** For each key, the day on which this process last stored a use. */
  readonly #noted = new Map<string, string>();

  get(hash: string, nowMs: number): Key | undefined {
    const entry = this.#found.get(hash);
    if (entry === undefined) return undefined;
    const ageMs = nowMs - entry.atMs;
    // If the clock was set back, the age can be negative. Evict the entry then, so that it is not cached for too long.
    if (ageMs >= 0 && ageMs < FOUND_FOR_MS) return entry.record;
    this.#found.delete(hash);
    return undefined;
  }

  put(hash: string, record: Key, nowMs: number): void {
    this.#found.delete(hash);
    const [oldest] = this.#found.keys();
    if (this.#found.size >= MAX_FOUND && oldest !== undefined) this.#found.delete(oldest);
    this.#found.set(hash, { record, atMs: nowMs });
  }

  isNoted(hash: string, day: string): boolean {
    return this.#noted.get(hash) === day;
  }

  noted(hash: string, day: string): void {
    if (this.#noted.size >= MAX_FOUND) this.#noted.clear();
    this.#noted.set(hash, day);
  }
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
