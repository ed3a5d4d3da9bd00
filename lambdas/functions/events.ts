import { authenticatedApi } from '../http/authenticated-api.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { EVENT_ROUTES } from '../views/http/list-routes.ts';
import { readEventsConfig } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';

const { tables } = readEventsConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };

/** Not wrapped in `idempotently`: it only reads. */
export const handler = authenticatedApi(EVENT_ROUTES, {
  transitions: new LedgerChains(client, tables, pacing),
  views: new DynamoDbViews(client, tables.views, pacing),
  keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
  telemetry: standardTelemetry('events'),
  digest: systemDigest,
  clock: systemClock,
});
