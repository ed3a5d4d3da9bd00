import type { Answer } from '../../kernel/answer.ts';
import type { SecretVersion, WebhookEndpoint } from '../domain/webhook-endpoint.ts';
import type { WebhookSecrets } from './webhooks.ts';

/**
 * A stored response must not contain a secret, but a replay must return the same secret as the first response. The
 * placeholder therefore contains the inputs from which each replay derives the secret.
 */
const SEALED = /^derived:(?<root>[0-9a-f]{16}):(?<version>[1-9]\d{0,8})$/;

export function sealedSecret({ secrets: [newest] }: Pick<WebhookEndpoint, 'secrets'>): string {
  return newest === undefined ? '' : `derived:${newest.root}:${newest.version}`;
}

/** @returns undefined when the response has no placeholder */
export function sealedIn({
  body,
}: Answer): { readonly endpointId: string; readonly version: SecretVersion } | undefined {
  const { id, secret } = JSON.parse(body) as Record<string, unknown>;
  const version = typeof secret === 'string' ? parseSealed(secret) : undefined;
  return version === undefined || typeof id !== 'string' ? undefined : { endpointId: id, version };
}

/**
 * Returns a stored response in which the secret replaces the placeholder. Returns a response without a placeholder
 * unchanged.
 *
 * @throws RetryableError `webhook_root_unknown` when this process does not know the secret's root key
 */
export async function unsealed(secrets: Pick<WebhookSecrets, 'secretOf'>, answer: Answer): Promise<Answer> {
  const sealed = sealedIn(answer);
  if (sealed === undefined) return answer;
  const secret = await secrets.secretOf(sealed.endpointId, sealed.version);
  // JSON.parse keeps the order of members, so every replay has the same bytes.
  return { ...answer, body: JSON.stringify({ ...(JSON.parse(answer.body) as Record<string, unknown>), secret }) };
}

function parseSealed(text: string): SecretVersion | undefined {
  const { root, version } = SEALED.exec(text)?.groups ?? {};
  return root === undefined || version === undefined ? undefined : { root, version: Number(version) };
}
