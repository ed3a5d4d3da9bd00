import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbOrders } from '../adapters/dynamodb/dynamodb-orders.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { DynamoDbApiKeyRegistry } from '../adapters/dynamodb/tenant-registry.ts';
import { ProcessReplayCache } from '../adapters/memory/replay-cache.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredProcessors } from '../adapters/processor/configured-processors.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { configuredParties } from '../adapters/vendors/configured-parties.ts';
import { readPaymentsConfig } from '../runtime/config.ts';
import { outboundTelemetry } from '../runtime/outbound-telemetry.ts';
import { readPartiesConfig } from '../runtime/parties-config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { ordersApi } from './orders-api.ts';

const config = readPaymentsConfig(process.env);
const parties = readPartiesConfig(process.env);
if (parties === undefined) throw new Error('orders need their parties: none of them is set in the environment');
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const { tables } = config;
const store = new DynamoDbStore(client, tables, pacing);

export const handler = ordersApi({
  store,
  orders: new DynamoDbOrders(client, tables, pacing, store),
  keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
  ...(await configuredProcessors(config, systemClock)),
  ...(await configuredParties(parties, { client, observer: outboundTelemetry(), ...pacing })),
  runner: idempotentRunner,
  replays: new ProcessReplayCache(),
  telemetry: standardTelemetry('orders'),
  digest: systemDigest,
  ...pacing,
});
