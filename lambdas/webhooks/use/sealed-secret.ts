import type { Answer } from '../../kernel/answer.ts';
import type { SecretVersion, WebhookEndpoint } from '../domain/webhook-endpoint.ts';
import type { WebhookSecrets } from './webhooks.ts';

/**
 * A stored answer must hold what is shown once, and must not hold a secret. So it holds how the secret is derived, in its
 * place: whoever shows the answer, now or again, derives it and gets the same bytes.
 */
const SEALED = /^derived:(?<root>[0-9a-f]{16}):(?<version>[1-9]\d{0,8})$/;

/** What stands in a stored answer for the newest secret. */
export function sealedSecret({ secrets: [newest] }: Pick<WebhookEndpoint, 'secrets'>): string {
  return newest === undefined ? '' : `derived:${newest.root}:${newest.version}`;
}

/** @throws TerminalError when the root key of its secret is there no more */
export async function unsealed(secrets: Pick<WebhookSecrets, 'secretOf'>, answer: Answer): Promise<Answer> {
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  const { id, secret } = body;
  const version = typeof secret === 'string' ? parseSealed(secret) : undefined;
  if (version === undefined || typeof id !== 'string') return answer;
  // Parsing keeps the order of the members, so the bytes are the same each time.
  return { ...answer, body: JSON.stringify({ ...body, secret: await secrets.secretOf(id, version) }) };
}

function parseSealed(text: string): SecretVersion | undefined {
  const { root, version } = SEALED.exec(text)?.groups ?? {};
  return root === undefined || version === undefined ? undefined : { root, version: Number(version) };
}
