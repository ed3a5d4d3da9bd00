import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { CallbackSecrets } from '../adapters/callbacks/callback-secrets.ts';
import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbEffects } from '../adapters/dynamodb/dynamodb-effects.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { createSandboxBooks } from '../adapters/processor/sandbox-books.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { readCallbacksConfig } from '../runtime/config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { callbacksApi } from './callbacks-api.ts';

const { processorUrl, sources, ...tables } = readCallbacksConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const secretsManager = new SecretsManagerClient({
  maxAttempts: 1,
  requestHandler: { requestTimeout: 2_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 },
});
const books = createSandboxBooks({ url: processorUrl, clock: systemClock });

export const handler = callbacksApi({
  sources,
  secrets: new CallbackSecrets(secretsManager, systemClock),
  books: new Map([[books.name, books]]),
  effects: new DynamoDbEffects(client, tables, pacing, new DynamoDbStore(client, tables, pacing)),
  runner: idempotentRunner,
  telemetry: standardTelemetry('callbacks'),
  digest: systemDigest,
  ...pacing,
});
