import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import type { EmailHashes } from '../../lambdas/kernel/email-hashes.ts';
import { keyedEmailHashes } from '../../lambdas/kernel/platform/keyed-email-hashes.ts';
import { emailIndex } from '../../lambdas/views/store/email-index.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import type { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

export function hashesUnder(keys: Readonly<Record<string, string>>, clock = new SimulatedClock()): EmailHashes {
  const client = { send: async () => ({ SecretString: JSON.stringify(keys) }) } as unknown as SecretsManagerClient;
  const secretsManager = async () => client;
  return keyedEmailHashes({ [Environment.emailKeysSecretId]: 'email-keys' }, { secretsManager, clock });
}

export function emailTools({ database }: Stores) {
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return {
    emailHashes: hashesUnder({ current: 'a-key-of-the-deployment-000000001' }),
    emailIndex: emailIndex(database.client, TABLES.registry, pacing),
  };
}
