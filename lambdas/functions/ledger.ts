import { authenticatedApi } from '../http/authenticated-api.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { LEDGER_ROUTES } from '../reconciling/http/ledger-routes.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { readViewsTable } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { DynamoDbLedgerReader } from '../views/store/ledger-reader.ts';
import { ViewLedgerReader } from '../views/use/view-ledger-reader.ts';

const config = readPaymentsConfig(process.env, PROCESSORS);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const { tables } = config;
const { books } = await configuredProcessors(config, systemClock);

const views = new DynamoDbViews(client, readViewsTable(process.env), pacing);
const wholeLedger = new DynamoDbLedgerReader(client, tables.ledger, pacing);

export const handler = idempotently(
  { unit: 'a request with an idempotency key', record: 'its record in the Idempotency table' },
  (runner) =>
    authenticatedApi(LEDGER_ROUTES, {
      ledger: new ViewLedgerReader(views, wholeLedger),
      wholeLedger,
      views,
      effects: new DynamoDbEffects(client, tables, pacing, new DynamoDbStore(client, tables, pacing)),
      keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
      books,
      runner,
      telemetry: standardTelemetry('ledger'),
      digest: systemDigest,
      ...pacing,
    }),
);
