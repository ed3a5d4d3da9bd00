import { createHmac } from 'node:crypto';
import * as z from 'zod';
import { Environment } from '../contract/environment.ts';
import { base32 } from '../digest.ts';
import type { EmailHashes } from '../email-hashes.ts';
import { invariant } from '../invariant.ts';
import { loadedOnce } from '../loaded-once.ts';
import type { Clock } from '../world.ts';
import type { Secrets } from './secrets-manager.ts';
import { readVariables, secretId, type Variables } from './variables.ts';

/** Length of a hash in base32 characters: 160 bits. */
const LETTERS = 32;
const variables = z.object({ [Environment.emailKeysSecretId]: secretId });

/**
 * Creates the hasher of e-mail addresses: HMAC-SHA256 over owner and address, with each key of the deployment's secret.
 * The keys are read on first use.
 *
 * @throws Error naming the variable when it is missing
 */
export function keyedEmailHashes(
  environment: Variables,
  { secretsManager, clock }: Secrets & { readonly clock: Clock },
): EmailHashes {
  const id = readVariables(variables, environment)[Environment.emailKeysSecretId];
  // Load the Secrets Manager client at its first use, so that a cold start does not load it.
  const known = loadedOnce(
    async () => new (await import('./secrets-manager.ts')).ActiveSecrets(await secretsManager(), clock),
  );
  return {
    of: async ({ tenantId, mode }, email) => {
      const keys = await (await known()).active(id);
      const text = JSON.stringify([tenantId, mode, email.toLowerCase()]);
      const [first, ...older] = keys.map((key) =>
        base32(createHmac('sha256', key).update(text).digest()).slice(0, LETTERS),
      );
      invariant(first !== undefined, 'the secret has no key');
      return [first, ...older];
    },
  };
}
