import { configuredAuthority } from '../authority/configured-authority.ts';
import { authenticatedApi } from '../http/authenticated-api.ts';
import { keyedEmailHashes } from '../kernel/platform/keyed-email-hashes.ts';
import { secrets } from '../kernel/platform/secrets-manager.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { ORDER_ROUTES, type OrderRouteTools } from '../orders/http/order-routes.ts';
import { configuredParties, type PartiesTools } from '../orders/parties/configured-parties.ts';
import { readPartiesConfig } from '../orders/parties/settings.ts';
import { DynamoDbOrders } from '../orders/store/dynamodb-orders.ts';
import { callOnce } from '../outbound/http-call.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors, type ProcessorsPlatform } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { tenantLimits } from '../tenants/store/dynamodb-limits.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { getOrders } from '../views/http/order-list.ts';
import { readViewsTable } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { emailIndex } from '../views/store/email-index.ts';
import type { ListOrdersTools } from '../views/use/list-orders.ts';

export const handler = await idempotently(
  { unit: 'a request with an idempotency key', record: 'the record of the request in the Idempotency table' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...secrets, send: callOnce }, runner),
);

export async function wire(
  platform: Platform & ProcessorsPlatform & PartiesTools,
  runner: OperationRunner,
  processors = PROCESSORS,
) {
  const { documents, clock, entropy, retention, digest } = platform;
  const config = readPaymentsConfig(platform.variables, processors);
  const parties = readPartiesConfig(platform.variables);
  if (parties === undefined)
    throw new Error('orders need the settings of their external services (shop, mailer): the environment has none');
  const pacing = { clock, entropy, retention };
  const { tables } = config;
  const telemetry = standardTelemetry('orders', platform.instruments);
  const { client, postgres } = await configuredAuthority(platform, tables);
  const store = postgres?.store ?? new DynamoDbStore(client, tables, pacing);
  return authenticatedApi<OrderRouteTools & ListOrdersTools>([...ORDER_ROUTES, getOrders], {
    store,
    effects: postgres?.effects() ?? new DynamoDbEffects(client, tables, pacing, store),
    orders: postgres?.orders() ?? new DynamoDbOrders(client, tables, pacing, store),
    views: new DynamoDbViews(documents, readViewsTable(platform.variables), pacing),
    emailHashes: keyedEmailHashes(platform.variables, platform),
    emailIndex: emailIndex(documents, tables.registry, pacing),
    keys: new DynamoDbApiKeyRegistry(documents, tables.registry, pacing),
    limits: tenantLimits(platform, tables.registry),
    ...(await configuredProcessors(config, platform)),
    ...(await configuredParties(parties, platform)),
    runner,
    replays: postgres?.replays ?? new ProcessReplayCache(),
    copies: postgres?.copies,
    telemetry,
    report: (error) => telemetry.fault('orders', error),
    digest,
    ...pacing,
  });
}
