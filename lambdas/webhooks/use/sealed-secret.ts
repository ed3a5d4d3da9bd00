import type { Answer } from '../../kernel/answer.ts';
import type { SecretVersion, WebhookEndpoint } from '../domain/webhook-endpoint.ts';
import type { WebhookSecrets } from './webhooks.ts';

/**
 * Matches the placeholder for a secret. A stored response must not contain a secret, but a replay must return the same
 * secret as the first response. The placeholder therefore contains the inputs from which each replay derives the
 * secret.
 */
const SEALED = /^derived:(?<root>[0-9a-f]{16}):(?<version>[1-9]\d{0,8})$/;

/** Returns the placeholder for the newest secret in a stored response. */
export function sealedSecret({ secrets: [newest] }: Pick<WebhookEndpoint, 'secrets'>): string {
  return newest === undefined ? '' : `derived:${newest.root}:${newest.version}`;
}

/**
 * Returns a stored response in which the secret replaces the placeholder.
 *
 * @throws RetryableError when this process does not know the secret's root key
 */
export async function unsealed(secrets: Pick<WebhookSecrets, 'secretOf'>, answer: Answer): Promise<Answer> {
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  const { id, secret } = body;
  const version = typeof secret === 'string' ? parseSealed(secret) : undefined;
  if (version === undefined || typeof id !== 'string') return answer;
  // JSON.parse keeps the order of members, so every replay has the same bytes.
  return { ...answer, body: JSON.stringify({ ...body, secret: await secrets.secretOf(id, version) }) };
}

function parseSealed(text: string): SecretVersion | undefined {
  const { root, version } = SEALED.exec(text)?.groups ?? {};
  return root === undefined || version === undefined ? undefined : { root, version: Number(version) };
}
