import { authenticatedApi } from '../http/authenticated-api.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import { PAYMENT_ROUTES } from '../payments/http/payment-routes.ts';
import type { PaymentsTools } from '../payments/http/post-payment.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { LedgerTransitions } from '../payments/store/ledger-transitions.ts';
import { configuredProcessors } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { getPayments } from '../views/http/list-routes.ts';
import { readViewsTable } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import type { ListPaymentsTools } from '../views/use/list-payments.ts';

const config = readPaymentsConfig(process.env, PROCESSORS);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const { tables } = config;
const processors = await configuredProcessors(config, systemClock);

export const handler = idempotently(
  { unit: 'a request with an idempotency key', record: 'its record in the Idempotency table' },
  (runner) =>
    authenticatedApi<PaymentsTools & ListPaymentsTools>([...PAYMENT_ROUTES, getPayments], {
      store: new DynamoDbStore(client, tables, pacing),
      transitions: new LedgerTransitions(client, tables, pacing),
      views: new DynamoDbViews(client, readViewsTable(process.env), pacing),
      keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
      ...processors,
      runner,
      replays: new ProcessReplayCache(),
      telemetry: standardTelemetry('payments'),
      digest: systemDigest,
      ...pacing,
    }),
);
