import { authenticatedApi } from '../http/authenticated-api.ts';
import type { Secrets } from '../kernel/platform/secrets-manager.ts';
import { secrets } from '../kernel/platform/secrets-manager.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { tenantLimits } from '../tenants/store/dynamodb-limits.ts';
import { operatorsForTenants } from '../tenants/store/operator-registry.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { WEBHOOK_ROUTES } from '../webhooks/http/webhook-routes.ts';
import { readCallingConfig } from '../webhooks/settings.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { type Resolve, systemResolve } from '../webhooks/transport/addresses.ts';
import { webhookAddresses } from '../webhooks/transport/webhook-addresses.ts';
import { configuredSecrets, configuredTasks } from '../webhooks/transport/webhook-clients.ts';

export const handler = await idempotently(
  { unit: 'a request with an idempotency key', record: 'the record of the request in the Idempotency table' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...secrets, resolve: systemResolve }, runner),
);

export async function wire(
  platform: Platform & Queues & Secrets & { readonly resolve: Resolve },
  runner: OperationRunner,
) {
  const { documents, clock, entropy, retention, digest } = platform;
  const config = readCallingConfig(platform.variables);
  const pacing = { clock, entropy, retention };
  const telemetry = standardTelemetry('webhooks', platform.instruments);
  return authenticatedApi(WEBHOOK_ROUTES, {
    webhooks: new DynamoDbWebhooks(documents, { ...config.tables, ledger: config.ledgerTable }, pacing, (error) =>
      telemetry.fault('list webhooks', error),
    ),
    keys: new DynamoDbApiKeyRegistry(documents, config.tables.registry, pacing),
    limits: tenantLimits(platform, config.tables.registry),
    operators: operatorsForTenants(platform, config.tables.registry),
    addresses: webhookAddresses(platform.resolve, config),
    secrets: await configuredSecrets(platform, config),
    tasks: configuredTasks(platform, config),
    runner,
    digest,
    telemetry,
    report: (error) => telemetry.fault('enqueue webhooks', error),
    ...pacing,
  });
}
