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
import { configuredProcessors } from '../processors/configured-processors.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { readUpkeepSweepsConfig } from '../reconciling/settings.ts';
import { booksJobs } from './books-jobs.ts';
import { upkeepSweeps } from './upkeep-jobs-sweeps.ts';

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
