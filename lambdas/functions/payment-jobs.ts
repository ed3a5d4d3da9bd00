import { configuredParking } from '../events/store/sqs-parking.ts';
import { jobTelemetry } from '../jobs/http/job-telemetry.ts';
import { jobWorker } from '../jobs/http/job-worker.ts';
import { readJobWorkerConfig } from '../jobs/settings.ts';
import { DynamoDbJobRuns } from '../jobs/store/dynamodb-job-runs.ts';
import { configuredJobTasks } from '../jobs/store/sqs-job-tasks.ts';
import { workRun } from '../jobs/use/work-run.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { readPartiesConfig } from '../orders/parties/settings.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { paymentSweeps } from './payment-jobs-sweeps.ts';

const NAME = 'payment-jobs';
const config = readPaymentsConfig(process.env);
const { queueUrl, parkingQueueUrl } = readJobWorkerConfig(process.env, 'payments');
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = jobTelemetry(NAME);
const tools = {
  runs: new DynamoDbJobRuns(client, config.tables, pacing),
  tasks: configuredJobTasks({ payments: queueUrl }),
  jobs: await paymentSweeps({
    config,
    parties: readPartiesConfig(process.env),
    client,
    telemetry: standardTelemetry(NAME),
  }),
  observer: telemetry,
  clock: systemClock,
};

/** Works at the jobs that move money. */
export const handler = jobWorker({
  work: (message) => workRun(tools, message),
  parking: configuredParking(parkingQueueUrl),
  telemetry,
});
