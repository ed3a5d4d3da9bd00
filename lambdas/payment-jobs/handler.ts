import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbJobRuns } from '../adapters/dynamodb/dynamodb-job-runs.ts';
import { configuredJobTasks } from '../adapters/sqs/sqs-job-tasks.ts';
import { configuredParking } from '../adapters/sqs/sqs-parking.ts';
import { systemClock, systemEntropy } from '../adapters/system/platform.ts';
import { workRun } from '../app/work-run.ts';
import { readPaymentsConfig } from '../runtime/config.ts';
import { jobTelemetry } from '../runtime/job-telemetry.ts';
import { jobWorker } from '../runtime/job-worker.ts';
import { readJobWorkerConfig } from '../runtime/jobs-config.ts';
import { readPartiesConfig } from '../runtime/parties-config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { paymentSweeps } from './sweeps.ts';

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
