/** A received callback before its signature is verified. */
export interface SignedCallback {
  /** The signed bytes exactly as received. */
  readonly body: Uint8Array;
  /** Returns all distinct values of a header, by its lower-case name. */
  readonly header: (name: string) => readonly string[];
}

export type SignatureVerdict = { readonly kind: 'valid' } | SignatureRefusal;

export interface SignatureRefusal {
  readonly kind: 'refused';
  /**
   * If several reasons apply, the first in this order is returned. Only `mismatch` depends on the secrets, so a
   * verification with other secrets is useful only after a mismatch.
   */
  readonly reason: 'missing' | 'repeated' | 'malformed' | 'expired' | 'ahead' | 'mismatch';
}

/** An implementation never logs bodies, signatures or secrets. */
export interface SignatureScheme<Name extends string = string> {
  readonly name: Name;
  /**
   * Never throws because of the callback's content or a secret's format; an invalid secret matches nothing.
   *
   * @param secrets all active secrets; any may match
   */
  verify(
    callback: SignedCallback,
    secrets: readonly string[],
    nowMs: number,
  ): SignatureVerdict | Promise<SignatureVerdict>;
}

/**
 * Maximum difference between a signature's time and the clock, in either direction, in seconds. Stripe ("Resolve
 * webhook signature verification errors") and Standard Webhooks have the same default. A redelivered callback has a new
 * signature.
 */
const TOLERANCE_SECONDS = 300;

/** Pattern of Unix seconds without leading zeros. Each time has only one valid spelling, and is a safe integer. */
export const UNIX_SECONDS = '(?:0|[1-9][0-9]{0,11})';

export function soleValue(callback: SignedCallback, name: string): string | SignatureRefusal {
  const [value, ...others] = callback.header(name);
  if (value === undefined) return refused('missing');
  return others.length === 0 ? value : refused('repeated');
}

export function verifySignature(
  signed: { readonly atSeconds: number; readonly nowMs: number; readonly secrets: readonly string[] },
  matches: (secret: string) => boolean,
): SignatureVerdict {
  const ageSeconds = Math.floor(signed.nowMs / 1_000) - signed.atSeconds;
  if (ageSeconds > TOLERANCE_SECONDS) return refused('expired');
  if (ageSeconds < -TOLERANCE_SECONDS) return refused('ahead');
  // Every secret is tried, even after a match, so the duration reveals only the number of secrets.
  const found = signed.secrets.map((secret) => secretMatches(secret, matches));
  return found.includes(true) ? { kind: 'valid' } : refused('mismatch');
}

/** A blank secret never matches, because every sender can sign with an empty key. */
function secretMatches(secret: string, matches: (secret: string) => boolean): boolean {
  if (secret.trim() === '') return false;
  try {
    return matches(secret);
  } catch {
    // The packages of signature schemes throw on a mismatch and on an invalid secret. Discard their errors, because
    // they contain the body.
    return false;
  }
}

export function refused(reason: SignatureRefusal['reason']): SignatureRefusal {
  return { kind: 'refused', reason };
}
