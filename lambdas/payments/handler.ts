import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { DynamoDbViews } from '../adapters/dynamodb/dynamodb-views.ts';
import { DynamoDbApiKeyRegistry } from '../adapters/dynamodb/tenant-registry.ts';
import { ProcessReplayCache } from '../adapters/memory/replay-cache.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredProcessors } from '../adapters/processor/configured-processors.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { readPaymentsConfig } from '../runtime/config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { readViewsTable } from '../runtime/views-config.ts';
import { paymentsApi } from './payments-api.ts';

const config = readPaymentsConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const { tables } = config;
const processors = await configuredProcessors(config, systemClock);

export const handler = paymentsApi({
  store: new DynamoDbStore(client, tables, pacing),
  views: new DynamoDbViews(client, readViewsTable(process.env), pacing),
  keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
  ...processors,
  runner: idempotentRunner,
  replays: new ProcessReplayCache(),
  telemetry: standardTelemetry('payments'),
  digest: systemDigest,
  ...pacing,
});
