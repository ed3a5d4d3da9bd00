import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbConsumerRecords } from '../adapters/dynamodb/dynamodb-consumer-records.ts';
import { httpJobRoutes, signer } from '../adapters/jobs/http-job-routes.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { ActiveSecrets } from '../adapters/secrets/active-secrets.ts';
import { secretsManager } from '../adapters/secrets/secrets-manager.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { readExecutorConfig } from '../runtime/jobs-config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { cronExecutor } from './executor.ts';

const { idempotencyTable, credentialSecretId: secretId, apiUrl } = readExecutorConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const secrets = new ActiveSecrets(secretsManager(), systemClock);

export const handler = cronExecutor({
  routes: httpJobRoutes({ apiUrl, sign: signer({ secrets, secretId, clock: systemClock }) }),
  records: new DynamoDbConsumerRecords(documentClient(), { idempotency: idempotencyTable }, pacing),
  runner: idempotentRunner,
  digest: systemDigest,
  telemetry: standardTelemetry('cron-executor'),
  ...pacing,
});
