/** The sign-in of operators with a provider, from `sign-in.json`. */
export interface Provider {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
}

/**
 * The state of a tab while its operator is at the provider. It is useless without the code that the provider returns.
 */
export interface Asked {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  /** The screen to return to. */
  readonly hash: string;
}

export const STORED = 'payonce sign-in';

/** The redirect URI, which is registered at the provider: the address of this page. */
export function here(): string {
  return new URL('./', location.href).href;
}

/** Reads and deletes the pending sign-in request of this tab. @returns undefined when there is none */
export function takeAsked(): Asked | undefined {
  const stored = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  return stored === null ? undefined : (JSON.parse(stored) as Asked);
}

/** @returns undefined when operators use keys */
export async function readProvider(): Promise<Provider | undefined> {
  const answer = await fetch('sign-in.json');
  if (!answer.ok) throw new Error('The console cannot be set up. Reload the page.');
  const read = (await answer.json()) as Provider | Readonly<Record<string, never>>;
  return 'issuer' in read ? (read as Provider) : undefined;
}
