/** A file of the console that Vite built. Its name contains a hash of its content, so a cache may keep it for ever. */
const HASHED = /^[\w-]+\.(?<ending>js|css)$/;
const TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' } as const;

/** Nothing but our own files, and calls to the API beside them. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const OF_CONSOLE = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};
export const FOR_EVER = { 'cache-control': 'public, max-age=31536000, immutable' };

/** The content type of a built file. @returns undefined when no built file has this name */
export function typeOfAsset(name: string): (typeof TYPES)[keyof typeof TYPES] | undefined {
  const ending = HASHED.exec(name)?.groups?.['ending'];
  return ending === 'js' || ending === 'css' ? TYPES[ending] : undefined;
}
