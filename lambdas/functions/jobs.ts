import { DynamoDbActivity } from '../activity/store/dynamodb-activity.ts';
import type { GatewayEvent, GatewayResult } from '../http/gateway-request.ts';
import { JOB_SECRET_FRESH_SECONDS } from '../jobs/contract/jobs.ts';
import { jobsApi } from '../jobs/http/job-routes.ts';
import { verifyJobCredential } from '../jobs/job-credential.ts';
import { readJobsApiConfig } from '../jobs/settings.ts';
import { DynamoDbJobRuns } from '../jobs/store/dynamodb-job-runs.ts';
import { configuredJobTasks } from '../jobs/store/sqs-job-tasks.ts';
import { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import type { Secrets } from '../kernel/platform/secrets-manager.ts';
import { secrets } from '../kernel/platform/secrets-manager.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { configuredOperators } from '../tenants/store/operator-registry.ts';

export const handler = await idempotently(
  { unit: 'a request for a run', record: 'the record of the request, written with the run' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...secrets }, runner),
);

export async function wire(platform: Platform & Queues & Secrets, runner: OperationRunner) {
  const { documents, clock, entropy, retention, digest } = platform;
  const {
    tables,
    credentialSecretId: secretId,
    queueUrls,
    deploymentSettings,
    own,
    listed,
  } = readJobsApiConfig(platform.variables);
  const pacing = { clock, entropy, retention };
  const credentials = {
    secrets: new ActiveSecrets(await platform.secretsManager(), clock, JOB_SECRET_FRESH_SECONDS * 1000),
    secretId,
    clock,
  };
  const telemetry = standardTelemetry('jobs', platform.instruments);
  const api = jobsApi({
    runs: new DynamoDbJobRuns(documents, tables, pacing),
    tasks: configuredJobTasks(platform, queueUrls),
    identify: configuredOperators(platform, tables.registry),
    verify: (token, path) => verifyJobCredential(credentials, token, path),
    own,
    listed,
    runner,
    digest,
    telemetry,
    ...pacing,
  });
  const activity = new DynamoDbActivity(documents, tables, pacing);
  let areSettingsRecorded = false;
  // The executor calls this function every minute, so new settings are recorded soon after a deployment. If recording
  // fails, the request still succeeds, and the next request records them.
  return async (event: GatewayEvent): Promise<GatewayResult> => {
    if (!areSettingsRecorded) {
      areSettingsRecorded = await activity.recordSettings(deploymentSettings).then(
        () => true,
        (error: unknown) => {
          telemetry.fault('settings', error);
          return false;
        },
      );
    }
    return api(event);
  };
}
