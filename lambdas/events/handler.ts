import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbViews } from '../adapters/dynamodb/dynamodb-views.ts';
import { LedgerTransitions } from '../adapters/dynamodb/ledger-transitions.ts';
import { DynamoDbApiKeyRegistry } from '../adapters/dynamodb/tenant-registry.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { readEventsConfig } from '../runtime/views-config.ts';
import { eventsApi } from './events-api.ts';

const { tables } = readEventsConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };

export const handler = eventsApi({
  transitions: new LedgerTransitions(client, tables.ledger, pacing),
  views: new DynamoDbViews(client, tables.views, pacing),
  keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
  telemetry: standardTelemetry('events'),
  digest: systemDigest,
  clock: systemClock,
});
