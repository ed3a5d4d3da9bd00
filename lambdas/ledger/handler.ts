import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbEffects } from '../adapters/dynamodb/dynamodb-effects.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { DynamoDbViews } from '../adapters/dynamodb/dynamodb-views.ts';
import { DynamoDbLedgerReader } from '../adapters/dynamodb/ledger-reader.ts';
import { DynamoDbApiKeyRegistry } from '../adapters/dynamodb/tenant-registry.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredProcessors } from '../adapters/processor/configured-processors.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { ViewLedgerReader } from '../app/view-ledger-reader.ts';
import { readLedgerConfig } from '../runtime/config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { readViewsTable } from '../runtime/views-config.ts';
import { ledgerApi } from './ledger-api.ts';

const config = readLedgerConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const { tables } = config;
const { books } = await configuredProcessors(config, systemClock);

const views = new DynamoDbViews(client, readViewsTable(process.env), pacing);
const wholeLedger = new DynamoDbLedgerReader(client, tables.ledger, pacing);

export const handler = ledgerApi({
  ledger: new ViewLedgerReader(views, wholeLedger),
  wholeLedger,
  views,
  effects: new DynamoDbEffects(client, tables, pacing, new DynamoDbStore(client, tables, pacing)),
  keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
  books,
  runner: idempotentRunner,
  telemetry: standardTelemetry('ledger'),
  digest: systemDigest,
  ...pacing,
});
