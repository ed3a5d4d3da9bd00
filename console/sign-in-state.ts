/** How operators sign in with a provider, as `sign-in.json` says. */
export interface Provider {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
}

/** What a tab remembers while its operator is at the provider. It is worth nothing without the code that comes back. */
export interface Asked {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  /** The screen to return to. */
  readonly hash: string;
}

export const STORED = 'payonce sign-in';

/** The address of the page, which is registered at the provider. */
export function here(): string {
  return new URL('./', location.href).href;
}

/** What this tab asked the provider, once. @returns undefined when it asked nothing */
export function takeAsked(): Asked | undefined {
  const stored = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  return stored === null ? undefined : (JSON.parse(stored) as Asked);
}

/** @returns undefined when operators have keys */
export async function readProvider(): Promise<Provider | undefined> {
  const answer = await fetch('sign-in.json');
  if (!answer.ok) throw new Error('The console cannot be set up. Reload the page.');
  const read = (await answer.json()) as Provider | Readonly<Record<string, never>>;
  return 'issuer' in read ? (read as Provider) : undefined;
}
