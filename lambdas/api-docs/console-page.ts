import * as z from 'zod';
import { type ConsoleSignIn, Environment } from '../kernel/contract/environment.ts';
import { jsonOf, readVariables } from '../kernel/platform/variables.ts';

/** Vite puts a hash of the content into the name of a file, so a cache may keep the file permanently. */
const HASHED = /^[\w-]+\.(?<ending>js|css)$/;
const TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' } as const;

/**
 * The page may load files from this origin only, and call only this origin and the identity provider, if there is one.
 */
export function headersOfConsole(signIn: ConsoleSignIn | undefined) {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    ["connect-src 'self'", ...(signIn === undefined ? [] : [new URL(signIn.issuer).origin])].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  };
}

export const IMMUTABLE = { 'cache-control': 'public, max-age=31536000, immutable' };

export function typeOfAsset(name: string): (typeof TYPES)[keyof typeof TYPES] | undefined {
  const ending = HASHED.exec(name)?.groups?.['ending'];
  return ending === 'js' || ending === 'css' ? TYPES[ending] : undefined;
}

const variables = z.object({
  [Environment.consoleSignIn]: jsonOf(
    z.object({ issuer: z.url(), audience: z.string().min(1), clientId: z.string().min(1) }),
  ).optional(),
});

/**
 * @returns undefined when operators use keys
 * @throws Error when the environment variable does not have the format that the stack writes
 */
export function consoleSignIn(environment: Readonly<Record<string, string | undefined>>): ConsoleSignIn | undefined {
  return readVariables(variables, environment)[Environment.consoleSignIn];
}
