import { configuredAuthority } from '../authority/configured-authority.ts';
import { authenticatedApi } from '../http/authenticated-api.ts';
import { keyedEmailHashes } from '../kernel/platform/keyed-email-hashes.ts';
import { lazySecrets, type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';
import { callOnce } from '../outbound/http-call.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors, type ProcessorsPlatform } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { tenantLimits } from '../tenants/store/dynamodb-limits.ts';
import { operatorsForTenants } from '../tenants/store/operator-registry.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { READ_PATHS, READ_ROUTES } from '../views/http/read-routes.ts';
import { readViewsTable } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { emailIndex } from '../views/store/email-index.ts';
import { ViewLedgerReader } from '../views/use/view-ledger-reader.ts';

/** Not wrapped in `idempotently`, because this function only reads. */
export const handler = await wire({ ...systemPlatform(), ...lazySecrets, send: callOnce });

export async function wire(platform: Platform & ProcessorsPlatform, processors = PROCESSORS) {
  const { documents, clock, entropy, retention, digest } = platform;
  const config = readPaymentsConfig(platform.variables, processors);
  const { tables } = config;
  const pacing = { clock, entropy, retention };
  const { client, postgres } = await configuredAuthority(platform, tables);
  const views = new DynamoDbViews(documents, readViewsTable(platform.variables), pacing);
  const tools = {
    store: postgres?.store ?? new DynamoDbStore(client, tables, pacing),
    transitions: new LedgerChains(documents, tables, pacing),
    views,
    ledger: new ViewLedgerReader(views),
    emailHashes: keyedEmailHashes(platform.variables, platform),
    emailIndex: emailIndex(documents, tables.registry, pacing),
    operators: operatorsForTenants(platform, tables.registry),
    keys: new DynamoDbApiKeyRegistry(documents, tables.registry, pacing),
    limits: tenantLimits(platform, tables.registry),
    // Charges are looked up at these processors.
    ...(await configuredProcessors(config, platform)),
    telemetry: standardTelemetry('reads', platform.instruments),
    digest,
    clock,
  };
  return authenticatedApi(READ_ROUTES, tools, READ_PATHS);
}
