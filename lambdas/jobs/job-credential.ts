import { errors, jwtVerify, SignJWT } from 'jose';
import * as z from 'zod';
import { TerminalError } from '../kernel/faults.ts';
import type { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import { type WireClock, wireMs } from '../kernel/world.ts';

/**
 * The executor's token for one run at one path: a compact JWS (RFC 7515) with claims (RFC 7519). The executor has no
 * API key, because an API key would permanently have all rights of its scope and would belong to a tenant.
 */
export interface JobCredentialClaims {
  /** The exact path that the token may be used for. */
  readonly path: string;
  /** The only run that the token may request. */
  readonly runId: string;
  readonly scopes: readonly string[];
}

/** All invalid credentials get the same verdict, so that a caller does not learn the reason. */
export type CredentialVerdict =
  | { readonly kind: 'refused' }
  | { readonly kind: 'valid'; readonly runId: string; readonly scopes: readonly string[] };

interface CredentialTools {
  readonly secrets: Pick<ActiveSecrets, 'active' | 'renewed'>;
  readonly secretId: string;
  readonly clock: WireClock;
}

const ISSUER = 'payonce-cron-executor';
/** The only accepted algorithm, regardless of the token's header. Prevents `none` and algorithm confusion attacks. */
const ALGORITHM = 'HS256';
const TYPE = 'payonce-job+jwt';
/** Lifetime of a credential, in seconds. A request takes at most 10 seconds, and each retry signs a new credential. */
const LIFETIME_SECONDS = 60;
/**
 * Accepted difference between two clocks in either direction, in seconds: each clock may be wrong by five minutes. A
 * large tolerance does little harm, because a credential can only request the same run again; a credential that is
 * refused by mistake prevents the run.
 */
const CLOCK_TOLERANCE_SECONDS = 600;
const COMPACT_JWS = /^(?=.{1,2000}$)[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;

const claimsOf = z.object({ sub: z.string().min(1), iat: z.int(), exp: z.int(), scope: z.string() });

/** API keys never have this form. */
export function hasJobCredentialFormat(token: string): boolean {
  return COMPACT_JWS.test(token);
}

/** @throws the errors of `ActiveSecrets`; TerminalError `secret_malformed` when there is no secret */
export async function signJobCredential(
  { secrets, secretId, clock }: CredentialTools,
  { path, runId, scopes }: JobCredentialClaims,
): Promise<string> {
  const [secret] = await secrets.active(secretId);
  if (secret === undefined) throw new TerminalError('secret_malformed', `The secret ${secretId} has no value.`);
  const nowSeconds = Math.floor(wireMs(clock) / 1000);
  return new SignJWT({ scope: scopes.join(' ') })
    .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
    .setIssuer(ISSUER)
    .setAudience(path)
    .setSubject(runId)
    .setIssuedAt(nowSeconds)
    .setExpirationTime(nowSeconds + LIFETIME_SECONDS)
    .sign(keyOf(secret));
}

/**
 * If no cached secret verifies the token, the secrets are read again, because a new one may have been added.
 *
 * @throws the errors of `ActiveSecrets`
 */
export async function verifyJobCredential(
  { secrets, secretId, clock }: CredentialTools,
  token: string,
  path: string,
): Promise<CredentialVerdict> {
  // Read the time before the secrets, so that the token does not expire while the secrets are read.
  const nowMs = wireMs(clock);
  const first = await verifyWith(await secrets.active(secretId), token, path, nowMs);
  if (first !== 'other_key') return first;
  const renewed = await secrets.renewed(secretId);
  const second = renewed === undefined ? first : await verifyWith(renewed, token, path, nowMs);
  return second === 'other_key' ? REFUSED : second;
}

const REFUSED = { kind: 'refused' } as const;

/** @returns `other_key` when the token was signed with none of these secrets */
async function verifyWith(
  secrets: readonly string[],
  token: string,
  path: string,
  nowMs: number,
): Promise<CredentialVerdict | 'other_key'> {
  for (const secret of secrets) {
    try {
      const { payload } = await jwtVerify(token, keyOf(secret), {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer: ISSUER,
        audience: path,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        maxTokenAge: LIFETIME_SECONDS,
        currentDate: new Date(nowMs),
      });
      return verdictOn(payload);
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) continue;
      if (error instanceof errors.JOSEError) return REFUSED;
      throw error;
    }
  }
  return 'other_key';
}

function verdictOn(payload: unknown): CredentialVerdict {
  const claims = claimsOf.safeParse(payload);
  if (!claims.success) return REFUSED;
  const { sub, iat, exp, scope } = claims.data;
  // The executor signs only short-lived tokens. A longer lifetime means that another program used the secret.
  if (exp - iat > LIFETIME_SECONDS) return REFUSED;
  return { kind: 'valid', runId: sub, scopes: scope.split(' ').filter((each) => each !== '') };
}

function keyOf(secret: string): Uint8Array {
  return new TextEncoder().encode(secret);
}
