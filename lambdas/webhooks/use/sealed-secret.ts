import type { Answer } from '../../kernel/answer.ts';
import type { SecretVersion, WebhookEndpoint } from '../domain/webhook-endpoint.ts';
import type { WebhookSecrets } from './webhooks.ts';

/**
 * A replay must return the same secret as the first answer, and a stored answer must not contain a secret. The stored answer
 * therefore contains the inputs of the derivation, and each reply derives the secret from them.
 */
const SEALED = /^derived:(?<root>[0-9a-f]{16}):(?<version>[1-9]\d{0,8})$/;

/** Returns the placeholder of the newest secret in a stored answer. */
export function sealedSecret({ secrets: [newest] }: Pick<WebhookEndpoint, 'secrets'>): string {
  return newest === undefined ? '' : `derived:${newest.root}:${newest.version}`;
}

/**
 * Returns a stored answer with its secret.
 *
 * @throws RetryableError when the root key of the secret is not known to this process
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
