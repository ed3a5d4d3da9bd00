import { createHash, createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { RetryableError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { WebhookSecrets } from '../use/webhooks.ts';

/** The digits are the beginning of a hash of the key, so the name identifies the key without revealing it. */
const NAME_LETTERS = 16;
const PREFIX = 'whsec_';

/** Oldest first. */
type RootKeys = () => Promise<readonly string[]>;

/**
 * Derives the secrets of endpoints. A secret is the HMAC-SHA-256 of the endpoint id and the version under a root key:
 * 256 bits that cannot be guessed without the root key, and need not be stored. New secrets are derived from the last
 * root key; existing secrets keep their root key.
 */
export function webhookSecrets(rootKeys: RootKeys): WebhookSecrets {
  return {
    newestRoot: async () => {
      const newest = (await rootKeys()).at(-1);
      invariant(newest !== undefined, 'there is no root key');
      return nameOf(newest);
    },
    secretOf: async (endpointId, { root, version }) => {
      const key = (await rootKeys()).find((each) => nameOf(each) === root);
      // Another process may have used a new root key that this process has not read yet.
      if (key === undefined)
        throw new RetryableError('webhook_root_unknown', `this process does not know the root key ${root}`);
      const bytes = createHmac('sha256', key)
        .update(JSON.stringify(['webhook_secret', endpointId, version]))
        .digest();
      return PREFIX + bytes.toString('base64');
    },
    sign: (secrets, { id, atMs, body }) => {
      // Whole seconds, as in the `webhook-timestamp` header.
      const at = new Date(Math.floor(atMs / 1000) * 1000);
      return secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' ');
    },
  };
}

function nameOf(rootKey: string): string {
  return createHash('sha256').update(`webhook root ${rootKey}`).digest('hex').slice(0, NAME_LETTERS);
}
