import { authenticatedApi } from '../http/authenticated-api.ts';
import { loadedOnce } from '../kernel/loaded-once.ts';
import { type Platform, secretsLater, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { callOnce } from '../outbound/http-call.ts';
import { PAYMENT_READ_ROUTES } from '../payments/http/payment-read-routes.ts';
import { PAYMENT_POST_ROUTES } from '../payments/http/payment-routes.ts';
import type { PaymentsTools } from '../payments/http/post-payment.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors, type ProcessorsPlatform } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { tenantLimits } from '../tenants/store/dynamodb-limits.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { PAYMENT_LIST_ROUTES } from '../views/http/payment-lists.ts';
import { readViewsTable } from '../views/settings.ts';
import type { ListPaymentsTools } from '../views/use/list-payments.ts';

export const handler = await idempotently(
  { unit: 'a request with an idempotency key', record: 'its record in the Idempotency table' },
  (runner) => wire({ ...systemPlatform(), ...secretsLater, send: callOnce }, runner),
);

export async function wire(platform: Platform & ProcessorsPlatform, runner: OperationRunner, processors = PROCESSORS) {
  const { documents, clock, entropy, retention, digest } = platform;
  const config = readPaymentsConfig(platform.variables, processors);
  const pacing = { clock, entropy, retention };
  const { tables } = config;
  const viewsTable = readViewsTable(platform.variables);
  // Only payments with an e-mail address need them.
  const emailHashes = loadedOnce(async () =>
    (await import('../kernel/platform/keyed-email-hashes.ts')).keyedEmailHashes(platform.variables, platform),
  );
  // Only operators need it.
  const operators = loadedOnce(async () =>
    (await import('../tenants/store/operator-registry.ts')).operatorsForTenants(platform, tables.registry),
  );
  // Lists alone read them.
  const transitions = async () =>
    new (await import('../payments/store/ledger-transitions.ts')).LedgerTransitions(documents, tables, pacing);
  const views = async () =>
    new (await import('../views/store/dynamodb-views.ts')).DynamoDbViews(documents, viewsTable, pacing);
  const store = new DynamoDbStore(documents, tables, pacing);
  const effects = async () =>
    new (await import('../payments/store/dynamodb-effects.ts')).DynamoDbEffects(documents, tables, pacing, store);
  const routes = [...PAYMENT_POST_ROUTES, ...PAYMENT_READ_ROUTES, ...PAYMENT_LIST_ROUTES];
  return authenticatedApi<PaymentsTools & ListPaymentsTools>(routes, {
    store,
    // Changes alone need it.
    effects: {
      recordEffect: async (effect) => (await effects()).recordEffect(effect),
      readEffect: async (id) => (await effects()).readEffect(id),
      queueIfAbsent: async (entries) => (await effects()).queueIfAbsent(entries),
    },
    transitions: { readTransition: async (place) => (await transitions()).readTransition(place) },
    views: { range: async (asked) => (await views()).range(asked), read: async (row) => (await views()).read(row) },
    emailHashes: { of: async (...asked) => (await emailHashes()).of(...asked) },
    emailIndex: {
      range: async (asked) =>
        (await import('../views/store/email-index.ts')).emailIndex(documents, tables.registry, pacing).range(asked),
    },
    operators: {
      identify: async (authorization) => (await operators()).identify(authorization),
      isTenant: async (id) => (await operators()).isTenant(id),
    },
    keys: new DynamoDbApiKeyRegistry(documents, tables.registry, pacing),
    limits: tenantLimits(platform, tables.registry),
    ...(await configuredProcessors(config, platform)),
    runner,
    replays: new ProcessReplayCache(),
    telemetry: standardTelemetry('payments', platform.instruments),
    digest,
    ...pacing,
  });
}
