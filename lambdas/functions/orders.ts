import { authenticatedApi } from '../http/authenticated-api.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import { ORDER_ROUTES } from '../orders/http/order-routes.ts';
import { configuredParties } from '../orders/parties/configured-parties.ts';
import { readPartiesConfig } from '../orders/parties/settings.ts';
import { DynamoDbOrders } from '../orders/store/dynamodb-orders.ts';
import { outboundTelemetry } from '../outbound/outbound-telemetry.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';

const config = readPaymentsConfig(process.env, PROCESSORS);
const parties = readPartiesConfig(process.env);
if (parties === undefined) throw new Error('orders need the settings of their parties: the environment has none');
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const { tables } = config;
const telemetry = standardTelemetry('orders');
const store = new DynamoDbStore(client, tables, pacing);
const processors = await configuredProcessors(config, systemClock);
const orderParties = await configuredParties(parties, { client, observer: outboundTelemetry(), ...pacing });

export const handler = idempotently(
  { unit: 'a request with an idempotency key', record: 'its record in the Idempotency table' },
  (runner) =>
    authenticatedApi(ORDER_ROUTES, {
      store,
      orders: new DynamoDbOrders(client, tables, pacing, store),
      keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
      ...processors,
      ...orderParties,
      runner,
      replays: new ProcessReplayCache(),
      telemetry,
      report: (error) => telemetry.fault('orders', error),
      digest: systemDigest,
      ...pacing,
    }),
);
