import { signer } from '../jobs/store/http-job-routes.ts';
import { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import { type Secrets, secrets } from '../kernel/platform/secrets-manager.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { targetCalls } from '../services/http/target-calls.ts';
import { readJobTargetsConfig } from '../services/settings.ts';
import { DynamoDbTargetRuns } from '../services/store/dynamodb-target-runs.ts';
import { configuredTargetCalls } from '../services/store/sqs-target-calls.ts';
import { targetRoutes } from '../services/use/target-routes.ts';
import { systemResolve } from '../webhooks/transport/addresses.ts';
import { webhookTransport } from '../webhooks/transport/webhook-transport.ts';

export const handler = await idempotently(
  { unit: 'a call to another service for one of its jobs', record: 'the record of the run-id' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...secrets }, runner),
);

export async function wire(platform: Platform & Queues & Secrets, runner: OperationRunner) {
  const { documents, clock, entropy, retention, digest } = platform;
  const config = readJobTargetsConfig(platform.variables);
  const pacing = { clock, entropy, retention };
  const activeSecrets = new ActiveSecrets(await platform.secretsManager(), clock);
  const transport = webhookTransport({ allowLoopback: config.allowLoopback, resolve: systemResolve });
  return targetCalls({
    targets: config.targets,
    routesOf: (target, { url, secretId }) =>
      targetRoutes({ target, url, sign: signer({ secrets: activeSecrets, secretId, clock }), transport, clock }),
    calls: configuredTargetCalls(platform, config),
    runs: new DynamoDbTargetRuns(documents, config.registryTable, pacing),
    records: new DynamoDbConsumerRecords(documents, { idempotency: config.idempotencyTable }, pacing),
    runner,
    digest,
    telemetry: standardTelemetry('job-targets', platform.instruments),
    ...pacing,
  });
}
