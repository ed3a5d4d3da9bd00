export type Values = Readonly<Record<string, string>>;

/** A request and its retries, which have the same key. */
export interface Attempt {
  readonly key: string;
  readonly values: Values;
  /** Set if an earlier request with this key may have taken effect. */
  readonly isRepeated?: true;
}

const STORED = 'payonce request';

/**
 * Stores a request before it is sent, until its outcome is known. Until then, the operator can only repeat this
 * request, even after a lost response, a reload or another sign-in: a new request could have the effect a second time.
 * Browsers delete the stored request when its tab is closed.
 *
 * @param act the operator, the action and its target
 */
export function keepAttempt(act: string, { key, values }: Attempt): void {
  const kept: Attempt = { key, values, isRepeated: true };
  sessionStorage.setItem(`${STORED} ${act}`, JSON.stringify(kept));
}

/** @returns undefined when no request for the action has an unknown outcome */
export function keptAttempt(act: string): Attempt | undefined {
  const stored = sessionStorage.getItem(`${STORED} ${act}`);
  return stored === null ? undefined : (JSON.parse(stored) as Attempt);
}

/** Keeps a later request, with another key. */
export function forgetAttempt(act: string, key: string): void {
  if (keptAttempt(act)?.key === key) sessionStorage.removeItem(`${STORED} ${act}`);
}
