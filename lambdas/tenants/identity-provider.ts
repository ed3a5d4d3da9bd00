import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWKSCacheInput,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwksCache,
  jwtVerify,
} from 'jose';
import * as z from 'zod';
import { ROLES, type Role } from '../kernel/contract/api.ts';
import type { IdentityProviderSettings } from '../kernel/contract/environment.ts';
import { RetryableError } from '../kernel/faults.ts';
import { ONE_LINE_NOT_BLANK } from '../kernel/one-line.ts';
import { type WireClock, wireMs } from '../kernel/world.ts';
import { bearerToken } from './authenticate.ts';
import type { IdentifyOperator, Operator } from './operators.ts';

/**
 * Accepted algorithms, regardless of the token's header. All are asymmetric. This excludes `none`, and HMAC, with which
 * a public key could be misused as a secret.
 */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Maximum difference between the provider's and AWS's clocks, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 30;
/** An operator waits for at most two requests. */
const TIMEOUT_MS = 3_000;
/** Age of cached keys at which they are read again, in milliseconds. */
const FRESH_MS = 10 * 60_000;
/** Minimum time between two reads of the provider's keys for tokens with unknown keys, in milliseconds. */
const COOLDOWN_MS = 30_000;
/**
 * Maximum age of cached keys while the provider does not respond, in milliseconds. A key that the provider has removed
 * is accepted for at most this time.
 */
const STALE_MS = 60 * 60_000;
/** Time after a failure during which no request is sent to the provider, in milliseconds. */
const FAILED_FOR_MS = 5_000;
/** Maximum time from `iat` to `exp`, in seconds. Access tokens are valid for minutes to hours. */
const LONGEST_VALIDITY_SECONDS = 24 * 60 * 60;
/**
 * Types of access and ID tokens (RFC 9068, section 2.1; RFC 8725, section 3.11). Logout tokens have a different type or
 * an `events` claim.
 */
const TYPES = ['jwt', 'at+jwt', 'application/at+jwt'];
const COMPACT_JWS = /^(?=.{1,8000}$)[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;

const configuration = z.object({ issuer: z.string(), jwks_uri: z.url() });
const claims = z.object({
  sub: z.string().regex(ONE_LINE_NOT_BLANK).max(200),
  name: z.string().regex(ONE_LINE_NOT_BLANK).max(100).optional().catch(undefined),
});

/**
 * Identifies operators by tokens from an OpenID Connect provider (OpenID Connect Discovery 1.0; RFC 7519).
 *
 * @returns a function that throws RetryableError `identity_provider_unavailable` if the token cannot be verified now
 */
export function byIdentityProvider(
  { issuer, audience, ...roles }: IdentityProviderSettings,
  clock: WireClock,
  { freshMs = FRESH_MS, cooldownMs = COOLDOWN_MS }: KeyTimes = {},
): IdentifyOperator {
  const keys = keysOf(issuer, { freshMs, cooldownMs }, clock);
  return async (authorization) => {
    const token = bearerToken(authorization);
    if (!COMPACT_JWS.test(token) || !mayBeOf(issuer, token)) return undefined;
    const nowSeconds = wireMs(clock) / 1000;
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms: ALGORITHMS,
        issuer,
        audience,
        requiredClaims: ['sub', 'iat', 'exp'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(wireMs(clock)),
      });
      return isOfTimes(payload, nowSeconds) ? operatorOf(payload, roles) : undefined;
    } catch (error) {
      if (isOfToken(error)) return undefined;
      throw new RetryableError(
        'identity_provider_unavailable',
        'The identity provider is unavailable or returned an invalid response.',
        {
          cause: error,
          retryAfterSeconds: FAILED_FOR_MS / 1000,
        },
      );
    }
  };
}

/** The provider's keys are not read for a token that fails this check. */
function mayBeOf(issuer: string, token: string): boolean {
  try {
    const { alg = '', typ = 'jwt' } = decodeProtectedHeader(token);
    const { iss, events } = decodeJwt(token);
    return ALGORITHMS.includes(alg) && TYPES.includes(typ.toLowerCase()) && iss === issuer && events === undefined;
  } catch {
    return false;
  }
}

function isOfTimes({ iat = 0, exp = 0 }: JWTPayload, nowSeconds: number): boolean {
  return iat <= nowSeconds + CLOCK_TOLERANCE_SECONDS && exp - iat <= LONGEST_VALIDITY_SECONDS + CLOCK_TOLERANCE_SECONDS;
}

interface KeyTimes {
  readonly freshMs?: number;
  readonly cooldownMs?: number;
}

function keysOf(issuer: string, times: Required<KeyTimes>, clock: WireClock): JWTVerifyGetKey {
  const known: JWKSCacheInput = {};
  let discovered: Promise<JWTVerifyGetKey> | undefined;
  let failed: { readonly error: unknown; readonly atMs: number } | undefined;
  const current: JWTVerifyGetKey = async (...token) => {
    const nowMs = wireMs(clock);
    if (failed !== undefined && failed.atMs <= nowMs && nowMs < failed.atMs + FAILED_FOR_MS) throw failed.error;
    try {
      discovered ??= discover(issuer, times, known);
      return await (await discovered)(...token);
    } catch (error) {
      if (!isOfToken(error)) failed = { error, atMs: wireMs(clock) };
      if (!('jwks' in known)) discovered = undefined;
      throw error;
    }
  };
  return async (header, token) => {
    try {
      return await current(header, token);
    } catch (error) {
      const { uat: readAtMs = 0, jwks } = known;
      if (isOfToken(error) || jwks === undefined || wireMs(clock) - readAtMs > STALE_MS) throw error;
      // If the cached keys lack the token's key, report the provider's fault instead of an invalid token, because the
      // provider may have added the key since the last read.
      return createLocalJWKSet(jwks)(header, token).catch(() => Promise.reject(error));
    }
  };
}

/** @param known receives the keys */
async function discover(
  issuer: string,
  { freshMs, cooldownMs }: Required<KeyTimes>,
  known: JWKSCacheInput,
): Promise<JWTVerifyGetKey> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
  const found = configuration.parse(await response.json());
  if (found.issuer !== issuer) throw new Error(`${address} belongs to a different issuer`);
  return createRemoteJWKSet(new URL(found.jwks_uri), {
    timeoutDuration: TIMEOUT_MS,
    cacheMaxAge: freshMs,
    cooldownDuration: cooldownMs,
    [jwksCache]: known,
  });
}

/** Returns whether the error means that the token is invalid. The provider causes all other errors. */
function isOfToken(error: unknown): boolean {
  return (
    error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) &&
    error.code !== 'ERR_JOSE_GENERIC'
  );
}

/** @returns undefined when the claims contain no role, or no valid `sub` */
function operatorOf(
  payload: JWTPayload,
  { roleClaim, roles }: Pick<IdentityProviderSettings, 'roleClaim' | 'roles'>,
): Operator | undefined {
  const read = claims.safeParse(payload);
  const values = [payload[roleClaim]].flat();
  const mapped = roles === undefined ? undefined : new Map<unknown, Role>(Object.entries(roles));
  const given = mapped === undefined ? values : values.map((value) => mapped.get(value));
  const role = ROLES.findLast((each: Role) => given.includes(each));
  if (!read.success || role === undefined) return undefined;
  const { sub, name = sub } = read.data;
  return { name, role, identity: sub, person: sub };
}
