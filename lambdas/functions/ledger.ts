import * as z from 'zod';
import { authenticatedApi } from '../http/authenticated-api.ts';
import { Environment } from '../kernel/contract/environment.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { readVariables, tableName } from '../kernel/platform/variables.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { LEDGER_ROUTES } from '../reconciling/http/ledger-routes.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { ViewLedgerReader } from '../views/use/view-ledger-reader.ts';

const settings = readVariables(
  z.object({
    [Environment.idempotencyTable]: tableName,
    [Environment.ledgerTable]: tableName,
    [Environment.registryTable]: tableName,
    [Environment.viewsTable]: tableName,
  }),
  process.env,
);
const tables = {
  idempotency: settings[Environment.idempotencyTable],
  ledger: settings[Environment.ledgerTable],
  registry: settings[Environment.registryTable],
};
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const views = new DynamoDbViews(client, settings[Environment.viewsTable], pacing);

export const handler = idempotently(
  { unit: 'a request with an idempotency key', record: 'its record in the Idempotency table' },
  (runner) =>
    authenticatedApi(LEDGER_ROUTES, {
      ledger: new ViewLedgerReader(views),
      views,
      effects: new DynamoDbEffects(client, tables, pacing, new DynamoDbStore(client, tables, pacing)),
      keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
      runner,
      telemetry: standardTelemetry('ledger'),
      digest: systemDigest,
      ...pacing,
    }),
);
