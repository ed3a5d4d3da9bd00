import { Environment } from '../../lambdas/kernel/contract/environment.ts';

/** @param url base URL of AWS; `<url>/processor` is the base URL of the processor */
export function paymentsEnvironment(url: string): Readonly<Record<string, string>> {
  return {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL: url,
    [Environment.idempotencyTable]: 'idempotency',
    [Environment.ledgerTable]: 'ledger',
    [Environment.registryTable]: 'registry',
    [Environment.tenantLimit]: JSON.stringify({ rate: 1_000, burst: 2_000 }),
    [Environment.emailKeysSecretId]: 'email-keys',
    [Environment.processorRoutes]: JSON.stringify([{ mode: 'test', processor: 'sandbox' }]),
    TEST_SANDBOX_URL: `${url}/processor`,
    TEST_SANDBOX_ACCESS_SECRET_ID: 'access',
    POWERTOOLS_METRICS_NAMESPACE: 'Payonce',
  };
}
