import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbJobRuns } from '../adapters/dynamodb/dynamodb-job-runs.ts';
import { DynamoDbApiKeyRegistry } from '../adapters/dynamodb/tenant-registry.ts';
import { verifyJobCredential } from '../adapters/jobs/job-credential.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { ActiveSecrets } from '../adapters/secrets/active-secrets.ts';
import { secretsManager } from '../adapters/secrets/secrets-manager.ts';
import { configuredJobTasks } from '../adapters/sqs/sqs-job-tasks.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { readJobsApiConfig } from '../runtime/jobs-config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { jobsApi } from './jobs-api.ts';

const { tables, credentialSecretId: secretId, queueUrls } = readJobsApiConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const credentials = { secrets: new ActiveSecrets(secretsManager(), systemClock), secretId, clock: systemClock };

export const handler = jobsApi({
  runs: new DynamoDbJobRuns(client, tables, pacing),
  tasks: configuredJobTasks(queueUrls),
  keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
  verify: (token, path) => verifyJobCredential(credentials, token, path),
  runner: idempotentRunner,
  digest: systemDigest,
  telemetry: standardTelemetry('jobs'),
  ...pacing,
});
