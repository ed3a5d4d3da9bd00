import { errors, jwtVerify, SignJWT } from 'jose';
import * as z from 'zod';
import { TerminalError } from '../kernel/faults.ts';
import type { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import type { Clock } from '../kernel/world.ts';

/** What the executor shows to a job's route: a compact JWS (RFC 7515) with claims (RFC 7519), good for one run at one path. */
export interface JobCredentialClaims {
  /** The exact path that it is for. */
  readonly path: string;
  /** Whose run it asks for, and nothing else. */
  readonly runId: string;
  readonly scopes: readonly string[];
}

/** In order of precedence; one word for all that is not good, so that nothing is learnt about it. */
export type CredentialVerdict =
  | { readonly kind: 'refused' }
  | { readonly kind: 'valid'; readonly runId: string; readonly scopes: readonly string[] };

interface CredentialTools {
  readonly secrets: Pick<ActiveSecrets, 'active' | 'renewed'>;
  readonly secretId: string;
  readonly clock: Pick<Clock, 'nowMs'>;
}

const ISSUER = 'payonce-cron-executor';
/** Pinned, whatever a header says: no `none`, nothing else that a key of ours could be taken for. */
const ALGORITHM = 'HS256';
const TYPE = 'payonce-job+jwt';
/** A call takes ten; one that is made again is signed anew. Seconds. */
const LIFETIME_SECONDS = 60;
/** Clocks of two functions of one region differ by less. Seconds, either way. */
const CLOCK_TOLERANCE_SECONDS = 30;
/** Three pieces of base64url, of the size that ours have. */
const COMPACT_JWS = /^(?=.{1,2000}$)[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;

const claimsOf = z.object({ sub: z.string().min(1), iat: z.int(), exp: z.int(), scope: z.string() });

/** Whether it is one to be verified here, and not an API key. */
export function isCredential(token: string): boolean {
  return COMPACT_JWS.test(token);
}

/**
 * Signs with the first of the active secrets.
 *
 * @throws what `ActiveSecrets` throws; TerminalError `secret_malformed` when there is none
 */
export async function signJobCredential(
  { secrets, secretId, clock }: CredentialTools,
  { path, runId, scopes }: JobCredentialClaims,
): Promise<string> {
  const [secret] = await secrets.active(secretId);
  if (secret === undefined) throw new TerminalError('secret_malformed', `The secret ${secretId} holds none.`);
  const nowSeconds = Math.floor(clock.nowMs() / 1000);
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
 * Whether the executor has signed this for `path`. One that no known secret made may be made with one that was added
 * since: it is verified once more, with secrets read anew.
 *
 * @throws what `ActiveSecrets` throws
 */
export async function verifyJobCredential(
  { secrets, secretId, clock }: CredentialTools,
  token: string,
  path: string,
): Promise<CredentialVerdict> {
  // When it came: what we wait for must not make it late.
  const nowMs = clock.nowMs();
  const first = await verifyWith(await secrets.active(secretId), token, path, nowMs);
  if (first !== 'other_key') return first;
  const renewed = await secrets.renewed(secretId);
  const second = renewed === undefined ? first : await verifyWith(renewed, token, path, nowMs);
  return second === 'other_key' ? REFUSED : second;
}

const REFUSED = { kind: 'refused' } as const;

/** @returns `other_key` when another secret may have made it */
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
  // Whoever has the secret could sign for years: what is not short-lived is not ours.
  if (exp - iat > LIFETIME_SECONDS) return REFUSED;
  return { kind: 'valid', runId: sub, scopes: scope.split(' ').filter((each) => each !== '') };
}

function keyOf(secret: string): Uint8Array {
  return new TextEncoder().encode(secret);
}
