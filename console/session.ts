import { forgetScope } from './place.ts';

const STORED = 'payonce session';
/** An operator signs in again at least once per working day. */
const LIFETIME_MS = 8 * 3_600_000;

interface Kept {
  readonly credential: string;
  readonly untilMs: number;
}

/** Browsers delete the credential with the tab; other tabs cannot read it. */
export function keepSession(credential: string): void {
  const kept: Kept = { credential, untilMs: Date.now() + LIFETIME_MS };
  sessionStorage.setItem(STORED, JSON.stringify(kept));
}

export function keptCredential(): string | undefined {
  const stored = sessionStorage.getItem(STORED);
  if (stored === null) return undefined;
  const { credential, untilMs } = JSON.parse(stored) as Kept;
  if (Date.now() < untilMs) return credential;
  sessionStorage.removeItem(STORED);
  return undefined;
}

/** Requests whose outcome is not known stay (`attempts.ts`). */
export function forgetSession(): void {
  sessionStorage.removeItem(STORED);
  forgetScope();
}
