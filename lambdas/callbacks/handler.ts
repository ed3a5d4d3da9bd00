import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbEffects } from '../adapters/dynamodb/dynamodb-effects.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredProcessors } from '../adapters/processor/configured-processors.ts';
import { ActiveSecrets } from '../adapters/secrets/active-secrets.ts';
import { secretsManager } from '../adapters/secrets/secrets-manager.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { readCallbacksConfig } from '../runtime/config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { callbacksApi } from './callbacks-api.ts';

const config = readCallbacksConfig(process.env);
const { sources, tables } = config;
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const { books } = await configuredProcessors(config, systemClock);

export const handler = callbacksApi({
  sources,
  secrets: new ActiveSecrets(secretsManager(), systemClock),
  books: new Map(books.map((each) => [each.name, each])),
  effects: new DynamoDbEffects(client, tables, pacing, new DynamoDbStore(client, tables, pacing)),
  runner: idempotentRunner,
  telemetry: standardTelemetry('callbacks'),
  digest: systemDigest,
  ...pacing,
});
