import { jobsApi } from '../jobs/http/job-routes.ts';
import { verifyJobCredential } from '../jobs/job-credential.ts';
import { readJobsApiConfig } from '../jobs/settings.ts';
import { DynamoDbJobRuns } from '../jobs/store/dynamodb-job-runs.ts';
import { configuredJobTasks } from '../jobs/store/sqs-job-tasks.ts';
import { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { secretsManager } from '../kernel/platform/secrets-manager.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';

const { tables, credentialSecretId: secretId, queueUrls } = readJobsApiConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const credentials = { secrets: new ActiveSecrets(secretsManager(), systemClock), secretId, clock: systemClock };

export const handler = idempotently(
  { unit: 'a request for a run', record: 'its record, written with the run' },
  (runner) =>
    jobsApi({
      runs: new DynamoDbJobRuns(client, tables, pacing),
      tasks: configuredJobTasks(queueUrls),
      keys: new DynamoDbApiKeyRegistry(client, tables.registry, pacing),
      verify: (token, path) => verifyJobCredential(credentials, token, path),
      runner,
      digest: systemDigest,
      telemetry: standardTelemetry('jobs'),
      ...pacing,
    }),
);
