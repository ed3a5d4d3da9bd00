/** Addresses of callers and settings are read here, so that all are read the same way. */

/** What the URL parser drops or replaces, so a reader of the text sees another address than the one that is called. */
const NOT_AS_WRITTEN = /[\s\p{Cc}\p{Cf}\\]/u;
/** The parser also finds a host after no slash, or after three. */
const WITH_HOST = /^https?:\/\/[^/?#]/i;
const WITH_USER = /^https?:\/\/[^/?#]*@/i;

export type WebUrl =
  | { readonly kind: 'good'; readonly url: URL }
  | { readonly kind: 'malformed' | 'not_as_written' | 'not_http' | 'with_user' };

/** Reads an http or https address that names its host as it is written (WHATWG URL), without user name and password. */
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
