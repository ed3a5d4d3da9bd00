import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbJobRuns } from '../adapters/dynamodb/dynamodb-job-runs.ts';
import { configuredProcessors } from '../adapters/processor/configured-processors.ts';
import { configuredJobTasks } from '../adapters/sqs/sqs-job-tasks.ts';
import { configuredParking } from '../adapters/sqs/sqs-parking.ts';
import { systemClock, systemEntropy } from '../adapters/system/platform.ts';
import { workRun } from '../app/work-run.ts';
import { readPaymentsConfig } from '../runtime/config.ts';
import { jobTelemetry } from '../runtime/job-telemetry.ts';
import { jobWorker } from '../runtime/job-worker.ts';
import { readJobWorkerConfig } from '../runtime/jobs-config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { readUpkeepSweepsConfig } from '../runtime/upkeep-sweeps-config.ts';
import { booksJobs } from './books-jobs.ts';
import { upkeepSweeps } from './sweeps.ts';

const NAME = 'upkeep-jobs';
const payments = readPaymentsConfig(process.env);
const sweeps = readUpkeepSweepsConfig(process.env);
const { queueUrl, parkingQueueUrl } = readJobWorkerConfig(process.env, 'upkeep');
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const tables = { ...payments.tables, views: sweeps.viewsTable };
const { books } = await configuredProcessors(payments, systemClock);
const telemetry = jobTelemetry(NAME);
const tools = {
  runs: new DynamoDbJobRuns(client, payments.tables, pacing),
  tasks: configuredJobTasks({ upkeep: queueUrl }),
  jobs: {
    ...upkeepSweeps({ config: sweeps, client, telemetry: standardTelemetry(NAME) }),
    ...booksJobs({ client, tables, books, ...pacing }),
  },
  observer: telemetry,
  clock: systemClock,
};

/** Works at the jobs that keep house: they append nothing to the Ledger. */
export const handler = jobWorker({
  work: (message) => workRun(tools, message),
  parking: configuredParking(parkingQueueUrl),
  telemetry,
});
