import type { Mode, TenantId } from './ids.ts';

declare const brand: unique symbol;

/** Idempotency key as the client chose it: 1 to 128 visible ASCII characters. Never logged in clear text. */
export type IdempotencyKey = string & { readonly [brand]: 'IdempotencyKey' };

export type ParsedIdempotencyKey =
  | { readonly kind: 'key'; readonly key: IdempotencyKey }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid'; readonly reason: string };

const RAW_KEY = /^[\x21-\x7e]{1,128}$/;
/** A quoted string (RFC 8941, section 3.3.3), in which only `"` and `\` are escaped. */
const QUOTED_KEY = /^"(?:[^"\\]|\\["\\])*"$/;

/**
 * Parses the values of the header. `k` and `"k"` are the same key (draft-ietf-httpapi-idempotency-key-header, section
 * 2.1). A value that is sent twice is accepted; two different values are an error.
 */
export function parseIdempotencyKey(values: readonly string[]): ParsedIdempotencyKey {
  const keys = new Set<string>();
  for (const value of values) {
    const key = unquote(value.trim());
    if (key === undefined)
      return { kind: 'invalid', reason: 'a quoted key must end with a quote and escape only " and \\' };
    keys.add(key);
  }
  if (keys.size === 0) return { kind: 'missing' };
  if (keys.size > 1) return { kind: 'invalid', reason: 'the header has more than one value' };
  const [key = ''] = keys;
  if (key === '') return { kind: 'missing' };
  if (!RAW_KEY.test(key)) return { kind: 'invalid', reason: `${FORM}; ${faultOf(key)}` };
  return { kind: 'key', key: key as IdempotencyKey };
}

const FORM = 'a key is 1 to 128 visible ASCII characters (! to ~)';

function faultOf(key: string): string {
  const characters = Array.from(key);
  const at = characters.findIndex((each) => !RAW_KEY.test(each));
  if (at === -1) return `this one has ${characters.length}`;
  const code = characters[at]?.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return `character ${at + 1} of this one is U+${code}`;
}

function unquote(value: string): string | undefined {
  if (!value.startsWith('"')) return value;
  if (!QUOTED_KEY.test(value)) return undefined;
  return value.slice(1, -1).replaceAll(/\\(["\\])/g, '$1');
}

export interface KeyScope {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly method: string;
  /** The resolved path, with ids instead of placeholders, for example `/v1/payments`. */
  readonly path: string;
  readonly key: IdempotencyKey;
}

export interface OperatorKeyScope extends Omit<KeyScope, 'tenantId' | 'mode'> {
  /** Identifies the operator as a person, regardless of the API key in use. */
  readonly person: string;
}

export function scopeParts(scope: KeyScope): readonly string[] {
  return [scope.tenantId, scope.mode, scope.method, scope.path, scope.key];
}

export function operatorParts(scope: OperatorKeyScope): readonly string[] {
  return ['operator', scope.person, scope.method, scope.path, scope.key];
}
