import { configuredAuthority } from '../authority/configured-authority.ts';
import { callbacksApi } from '../callbacks/callbacks-api.ts';
import { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import { secrets } from '../kernel/platform/secrets-manager.ts';
import { type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { callOnce } from '../outbound/http-call.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import {
  configuredProcessors,
  configuredSources,
  type ProcessorsPlatform,
} from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readCallbacksConfig } from '../processors/settings.ts';

export const handler = await idempotently(
  {
    unit: 'an event of a processor',
    record: 'the record of the event, written with the transition that the event causes',
  },
  (runner) => wire({ ...systemPlatform(), ...secrets, send: callOnce }, runner),
);

export async function wire(platform: Platform & ProcessorsPlatform, runner: OperationRunner, processors = PROCESSORS) {
  const { clock, entropy, retention, digest } = platform;
  const config = readCallbacksConfig(platform.variables, processors);
  const { tables } = config;
  const pacing = { clock, entropy, retention };
  const { client, postgres } = await configuredAuthority(platform, tables);
  const { books } = await configuredProcessors(config, platform);
  return callbacksApi({
    sources: await configuredSources(config.sources, books, processors),
    secrets: new ActiveSecrets(await platform.secretsManager(), clock),
    effects:
      postgres?.effects() ?? new DynamoDbEffects(client, tables, pacing, new DynamoDbStore(client, tables, pacing)),
    runner,
    telemetry: standardTelemetry('callbacks', platform.instruments),
    digest,
    ...pacing,
  });
}
