import { authenticatedApi } from '../http/authenticated-api.ts';
import { type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';
import { tenantLimits } from '../tenants/store/dynamodb-limits.ts';
import { operatorsForTenants } from '../tenants/store/operator-registry.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { EVENT_ROUTES } from '../views/http/event-routes.ts';
import { readEventsConfig } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';

/** Not wrapped in `idempotently`: it only reads. */
export const handler = wire(systemPlatform());

export function wire(platform: Platform) {
  const { documents, clock, entropy, digest } = platform;
  const { tables } = readEventsConfig(platform.variables);
  const pacing = { clock, entropy };
  return authenticatedApi(EVENT_ROUTES, {
    transitions: new LedgerChains(documents, tables, pacing),
    views: new DynamoDbViews(documents, tables.views, pacing),
    keys: new DynamoDbApiKeyRegistry(documents, tables.registry, pacing),
    limits: tenantLimits(platform, tables.registry),
    operators: operatorsForTenants(platform, tables.registry),
    telemetry: standardTelemetry('events', platform.instruments),
    digest,
    clock,
  });
}
