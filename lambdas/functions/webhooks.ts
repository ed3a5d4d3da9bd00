import { authenticatedApi } from '../http/authenticated-api.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { WEBHOOK_ROUTES } from '../webhooks/http/webhook-routes.ts';
import { readCallingConfig } from '../webhooks/settings.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { systemResolve } from '../webhooks/transport/addresses.ts';
import { webhookAddresses } from '../webhooks/transport/webhook-addresses.ts';
import { configuredSecrets, configuredTasks } from '../webhooks/transport/webhook-clients.ts';

const config = readCallingConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = standardTelemetry('webhooks');

export const handler = idempotently(
  { unit: 'a request with an idempotency key', record: 'its record in the Idempotency table' },
  (runner) =>
    authenticatedApi(WEBHOOK_ROUTES, {
      webhooks: new DynamoDbWebhooks(client, config.tables, pacing),
      keys: new DynamoDbApiKeyRegistry(client, config.tables.registry, pacing),
      addresses: webhookAddresses(systemResolve, config),
      secrets: configuredSecrets(config, systemClock),
      tasks: configuredTasks(config),
      runner,
      digest: systemDigest,
      telemetry,
      report: (error) => telemetry.fault('enqueue webhooks', error),
      ...pacing,
    }),
);
