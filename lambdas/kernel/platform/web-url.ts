/* Parses URLs from callers and settings, so that all code interprets them the same way. */

/**
 * Characters that the URL parser drops or replaces. A text with these characters would show a different address than
 * the one that is requested.
 */
const NOT_AS_WRITTEN = /[\s\p{Cc}\p{Cf}\\]/u;
/** Requires exactly two slashes, because the parser also accepts an address with no slash or with three. */
const WITH_HOST = /^https?:\/\/[^/?#]/i;
const WITH_USER = /^https?:\/\/[^/?#]*@/i;

export type WebUrl =
  | { readonly kind: 'good'; readonly url: URL }
  | { readonly kind: 'malformed' | 'not_as_written' | 'not_http' | 'with_user' };

/**
 * Parses an http or https address (WHATWG URL). Refuses a text that looks like a different address than the one that
 * would be requested, and an address with a user name or password.
 */
export function readWebUrl(text: string): WebUrl {
  const url = URL.parse(text);
  if (url === null) return { kind: 'malformed' };
  if (NOT_AS_WRITTEN.test(text)) return { kind: 'not_as_written' };
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { kind: 'not_http' };
  if (WITH_USER.test(text)) return { kind: 'with_user' };
  return WITH_HOST.test(text) ? { kind: 'good', url } : { kind: 'malformed' };
}

/** @returns undefined when {@link readWebUrl} refuses the text */
export function webUrl(text: string): URL | undefined {
  const read = readWebUrl(text);
  return read.kind === 'good' ? read.url : undefined;
}
