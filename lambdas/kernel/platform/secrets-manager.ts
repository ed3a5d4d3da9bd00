import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

// Export the classes here, because every function that loads the client also uses these classes, and so needs only one
// dynamic import.
export { ActiveSecrets, SecretReader } from './active-secrets.ts';

export interface Secrets {
  readonly secretsManager: () => Promise<SecretsManagerClient>;
}

/** The timeout fits into a request. */
export function secretsManager(): SecretsManagerClient {
  return new SecretsManagerClient({
    maxAttempts: 1,
    requestHandler: { requestTimeout: 2_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 },
  });
}

export const secrets: Secrets = { secretsManager: async () => secretsManager() };
