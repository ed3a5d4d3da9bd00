import { configuredAuthority } from '../authority/configured-authority.ts';
import { authenticatedApi } from '../http/authenticated-api.ts';
import { keyedEmailHashes } from '../kernel/platform/keyed-email-hashes.ts';
import { lazySecrets, type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { callOnce } from '../outbound/http-call.ts';
import { PAYMENT_PATHS } from '../payments/http/payment-paths.ts';
import { PAYMENT_POST_ROUTES } from '../payments/http/payment-routes.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors, type ProcessorsPlatform } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { tenantLimits } from '../tenants/store/dynamodb-limits.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';

export const handler = await idempotently(
  { unit: 'a request with an idempotency key', record: 'the record of the request in the Idempotency table' },
  (runner) => wire({ ...systemPlatform(), ...lazySecrets, send: callOnce }, runner),
);

export async function wire(platform: Platform & ProcessorsPlatform, runner: OperationRunner, processors = PROCESSORS) {
  const { documents, clock, entropy, retention, digest } = platform;
  const config = readPaymentsConfig(platform.variables, processors);
  const { tables } = config;
  const pacing = { clock, entropy, retention };
  const { client, postgres } = await configuredAuthority(platform, tables);
  const store = postgres?.store ?? new DynamoDbStore(client, tables, pacing);
  const tools = {
    store,
    effects: postgres?.effects() ?? new DynamoDbEffects(client, tables, pacing, store),
    emailHashes: keyedEmailHashes(platform.variables, platform),
    keys: new DynamoDbApiKeyRegistry(documents, tables.registry, pacing),
    limits: tenantLimits(platform, tables.registry),
    ...(await configuredProcessors(config, platform)),
    runner,
    replays: postgres?.replays ?? new ProcessReplayCache(),
    copies: postgres?.copies,
    telemetry: standardTelemetry('payments', platform.instruments),
    digest,
    ...pacing,
  };
  return authenticatedApi(PAYMENT_POST_ROUTES, tools, PAYMENT_PATHS);
}
