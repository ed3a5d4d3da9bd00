import { callbacksApi } from '../callbacks/callbacks-api.ts';
import { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { secretsManager } from '../kernel/platform/secrets-manager.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors, configuredSources } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readCallbacksConfig } from '../processors/settings.ts';

const config = readCallbacksConfig(process.env, PROCESSORS);
const { tables } = config;
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const { books } = await configuredProcessors(config, systemClock);
const sources = await configuredSources(config.sources, books, PROCESSORS);

export const handler = idempotently(
  { unit: 'an event of a processor', record: 'its record, written with the transition that it causes' },
  (runner) =>
    callbacksApi({
      sources,
      secrets: new ActiveSecrets(secretsManager(), systemClock),
      effects: new DynamoDbEffects(client, tables, pacing, new DynamoDbStore(client, tables, pacing)),
      runner,
      telemetry: standardTelemetry('callbacks'),
      digest: systemDigest,
      ...pacing,
    }),
);
