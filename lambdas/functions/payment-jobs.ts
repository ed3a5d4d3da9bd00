import { configuredParking } from '../events/store/sqs-parking.ts';
import { jobTelemetry } from '../jobs/http/job-telemetry.ts';
import { jobWorker } from '../jobs/http/job-worker.ts';
import { readJobWorkerConfig } from '../jobs/settings.ts';
import { DynamoDbJobRuns } from '../jobs/store/dynamodb-job-runs.ts';
import { configuredJobTasks } from '../jobs/store/sqs-job-tasks.ts';
import type { Job } from '../jobs/use/job.ts';
import { workRun } from '../jobs/use/work-run.ts';
import type { JobOf } from '../kernel/contract/jobs.ts';
import type { AlarmMetric } from '../kernel/contract/metrics.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { configuredParties } from '../orders/parties/configured-parties.ts';
import { readPartiesConfig } from '../orders/parties/settings.ts';
import { DynamoDbOrders } from '../orders/store/dynamodb-orders.ts';
import { outboundTelemetry } from '../outbound/outbound-telemetry.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { HOLDS } from '../payments/store/queue-items.ts';
import { configuredProcessors } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { backlogTelemetry } from '../resolving/http/backlog-telemetry.ts';
import { DynamoDbDueQueue } from '../resolving/store/dynamodb-due-queue.ts';
import { DynamoDbUnfinishedWork } from '../resolving/store/dynamodb-unfinished.ts';
import { expireAuthorizationsJob } from '../resolving/use/expire-authorizations.ts';
import { observedWork } from '../resolving/use/observed-work.ts';
import type { Resolved } from '../resolving/use/resolve.ts';
import { resolveJob } from '../resolving/use/resolve-all.ts';
import { type RetriedOrphans, retryOrphansJob } from '../resolving/use/retry-orphans.ts';

const NAME = 'payment-jobs';
const config = readPaymentsConfig(process.env, PROCESSORS);
const partiesConfig = readPartiesConfig(process.env);
const { queueUrl, parkingQueueUrl } = readJobWorkerConfig(process.env, 'payments');
const { tables } = config;
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const jobs = jobTelemetry(NAME);
const telemetry = standardTelemetry(NAME);
const processors = await configuredProcessors(config, systemClock);
/** Undefined when the deployment accepts no orders. */
const parties =
  partiesConfig === undefined
    ? undefined
    : await configuredParties(partiesConfig, { client, observer: outboundTelemetry(), ...pacing });

/** The worker of the jobs that move money. */
export const handler = idempotently(
  { unit: 'a page of a run', record: "the run's own row, saved under the job's lock" },
  (runner) => {
    const tools = {
      runs: new DynamoDbJobRuns(client, tables, pacing),
      tasks: configuredJobTasks({ payments: queueUrl }),
      jobs: paymentJobs(runner),
      observer: jobs,
      runner,
      clock: systemClock,
    };
    return jobWorker({
      work: (message) => workRun(tools, message),
      parking: configuredParking(parkingQueueUrl),
      telemetry: jobs,
    });
  },
);

function paymentJobs(runner: OperationRunner) {
  const store = new DynamoDbStore(client, tables, pacing);
  const effects = new DynamoDbEffects(client, tables, pacing, store, unreadable);
  const payments = {
    store,
    effects,
    ...processors,
    runner,
    replays: new ProcessReplayCache(),
    digest: systemDigest,
    report: (error: unknown) => telemetry.fault(NAME, error),
    // Written at once, so that a later crash does not lose it.
    alarm: (what: AlarmMetric) => telemetry.run('alarm', { [what]: 1 }, { [what]: 1 }),
    ...pacing,
  };
  return {
    resolve: resolveJob({
      ...payments,
      work: observedWork(
        new DynamoDbUnfinishedWork(client, tables, pacing, store, unreadable),
        systemClock,
        backlogTelemetry(),
      ),
      orders: new DynamoDbOrders(client, tables, pacing, store, unreadable),
      ...(parties === undefined ? {} : { parties }),
      told: tellResolved,
    }),
    'retry-orphans': retryOrphansJob({ ...payments, shelf: effects }, tellRetried),
    'expire-authorizations': expireAuthorizationsJob({
      ...payments,
      holds: new DynamoDbDueQueue({ client, table: tables.registry, pacing, unreadable }, HOLDS),
    }),
  } satisfies Readonly<Record<JobOf<'payments'>, Job>>;
}

function tellResolved(queue: string, resolved: Resolved, inReview: number): void {
  const { finished, failed, undecidable } = resolved;
  const counts = { resolved: finished, unavailable: failed, undecidable, order_needs_review: inReview };
  telemetry.run(`resolve ${queue}`, counts, { ...resolved });
}

function tellRetried(retried: RetriedOrphans): void {
  const counts = { orphan_adopted: retried.adopted, orphan_given_up: retried.givenUp };
  telemetry.run('retry orphaned callbacks', counts, { ...retried });
}

/** A row that this code cannot parse stays in its queue and is reported at every read, for an operator. */
function unreadable(error: unknown): void {
  telemetry.fault(NAME, error);
  telemetry.run('resolve unreadable', { undecidable: 1 }, { unreadable: 1 });
}
