/** What a processor sent, before anybody has read it. */
export interface SignedCallback {
  /** The bytes that were signed: as they came, neither decoded nor parsed. */
  readonly body: Uint8Array;
  /** All distinct values of a header, by its name in lower case. */
  readonly header: (name: string) => readonly string[];
}

export type SignatureVerdict = { readonly kind: 'valid' } | SignatureRefusal;

export interface SignatureRefusal {
  readonly kind: 'refused';
  /**
   * In order of precedence, and all but the last before any secret is used: what comes first is reported when several
   * hold. Only after `mismatch` may another secret help.
   */
  readonly reason: 'missing' | 'repeated' | 'malformed' | 'expired' | 'ahead' | 'mismatch';
}

/** How one kind of processor signs. It judges and tells nobody: neither bodies nor signatures nor secrets are logged. */
export interface SignatureScheme<Name extends string = string> {
  readonly name: Name;
  /**
   * Never throws because of what was sent or how a secret looks: a secret that cannot be one matches nothing.
   *
   * @param secrets all that are active; any may match
   * @param nowMs Unix milliseconds
   */
  verify(
    callback: SignedCallback,
    secrets: readonly string[],
    nowMs: number,
  ): SignatureVerdict | Promise<SignatureVerdict>;
}

/**
 * How old a signature may be, and how far ahead, because clocks differ. Seconds. What Stripe ("Resolve webhook signature
 * verification errors") and Standard Webhooks take by themselves; a callback that is sent again is signed anew.
 */
const TOLERANCE_SECONDS = 300;

/** Unix seconds as every scheme writes them: one spelling for each time, and small enough to be a safe integer. */
export const UNIX_SECONDS = '(?:0|[1-9][0-9]{0,11})';

/** The one value of a header, or why there is none. */
export function soleValue(callback: SignedCallback, name: string): string | SignatureRefusal {
  const [value, ...others] = callback.header(name);
  if (value === undefined) return refused('missing');
  return others.length === 0 ? value : refused('repeated');
}

/** The rest of the verdict, once the form is known to be right: by the time first, then by the secrets. */
export function judge(
  signed: { readonly atSeconds: number; readonly nowMs: number; readonly secrets: readonly string[] },
  matches: (secret: string) => boolean,
): SignatureVerdict {
  const ageSeconds = Math.floor(signed.nowMs / 1_000) - signed.atSeconds;
  if (ageSeconds > TOLERANCE_SECONDS) return refused('expired');
  if (ageSeconds < -TOLERANCE_SECONDS) return refused('ahead');
  // Every secret is tried, also after one has matched: the time that it takes tells only how many there are.
  const found = signed.secrets.map((secret) => tryOne(secret, matches));
  return found.includes(true) ? { kind: 'valid' } : refused('mismatch');
}

/** With an empty key anybody can sign, so a blank secret is none. */
function tryOne(secret: string, matches: (secret: string) => boolean): boolean {
  if (secret.trim() === '') return false;
  try {
    return matches(secret);
  } catch {
    // The packages throw when nothing matches, and for a secret that cannot be one; their errors carry the body.
    return false;
  }
}

export function refused(reason: SignatureRefusal['reason']): SignatureRefusal {
  return { kind: 'refused', reason };
}
