/** The server provides it as `sign-in.json`. */
export interface Provider {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
}

/**
 * Stored while the operator signs in at the provider. The data is useless without the code that the provider returns.
 */
export interface Asked {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  readonly hash: string;
}

export const STORED = 'payonce sign-in';

/** The provider must have this address registered as redirect URI. */
export function redirectUri(): string {
  return new URL('./', location.href).href;
}

/** Deletes the sign-in, too. @returns undefined when there is none */
export function takePendingSignIn(): Asked | undefined {
  const stored = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  return stored === null ? undefined : (JSON.parse(stored) as Asked);
}

/** @returns undefined when operators use keys */
export async function readProvider(): Promise<Provider | undefined> {
  const answer = await fetch('sign-in.json');
  if (!answer.ok) throw new Error('The configuration of the console cannot be loaded. Reload the page.');
  const read = (await answer.json()) as Provider | Readonly<Record<string, never>>;
  return 'issuer' in read ? (read as Provider) : undefined;
}
