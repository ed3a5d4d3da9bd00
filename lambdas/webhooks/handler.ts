import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbWebhooks } from '../adapters/dynamodb/dynamodb-webhooks.ts';
import { DynamoDbApiKeyRegistry } from '../adapters/dynamodb/tenant-registry.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { systemResolve } from '../adapters/webhooks/addresses.ts';
import { webhookAddresses } from '../adapters/webhooks/webhook-addresses.ts';
import { configuredSecrets, configuredTasks } from '../adapters/webhooks/webhook-clients.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { readCallingConfig } from '../runtime/webhook-config.ts';
import { webhooksApi } from './webhooks-api.ts';

const config = readCallingConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = standardTelemetry('webhooks');

export const handler = webhooksApi({
  webhooks: new DynamoDbWebhooks(client, config.tables, pacing),
  keys: new DynamoDbApiKeyRegistry(client, config.tables.registry, pacing),
  addresses: webhookAddresses(systemResolve, config),
  secrets: configuredSecrets(config, systemClock),
  tasks: configuredTasks(config),
  runner: idempotentRunner,
  digest: systemDigest,
  telemetry,
  report: (error) => telemetry.fault('enqueue webhooks', error),
  ...pacing,
});
