import { JOB_SECRET_FRESH_SECONDS } from '../jobs/contract/jobs.ts';
import { cronExecutor } from '../jobs/http/executor.ts';
import { readExecutorConfig } from '../jobs/settings.ts';
import { httpJobRoutes, signer } from '../jobs/store/http-job-routes.ts';
import { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import type { Secrets } from '../kernel/platform/secrets-manager.ts';
import { secrets } from '../kernel/platform/secrets-manager.ts';
import { type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { callOnce, type SendRequest } from '../outbound/http-call.ts';

export const handler = await idempotently(
  { unit: 'an invocation by a schedule', record: 'the record of the run-id' },
  (runner) => wire({ ...systemPlatform(), ...secrets, send: callOnce }, runner),
);

export async function wire(platform: Platform & Secrets & { readonly send: SendRequest }, runner: OperationRunner) {
  const { documents, clock, entropy, retention, digest, send } = platform;
  const { idempotencyTable, credentialSecretId: secretId, apiUrl } = readExecutorConfig(platform.variables);
  const pacing = { clock, entropy, retention };
  const activeSecrets = new ActiveSecrets(await platform.secretsManager(), clock, JOB_SECRET_FRESH_SECONDS * 1000);
  return cronExecutor({
    routes: httpJobRoutes({ apiUrl, sign: signer({ secrets: activeSecrets, secretId, clock }), send }),
    records: new DynamoDbConsumerRecords(documents, { idempotency: idempotencyTable }, pacing),
    runner,
    digest,
    telemetry: standardTelemetry('cron-executor', platform.instruments),
    ...pacing,
  });
}
