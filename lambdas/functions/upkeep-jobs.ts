import { readLostEventsConfig } from '../events/settings.ts';
import { EventBridgePublisher, eventBridgeClient } from '../events/store/eventbridge-publisher.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { republishLostEvents } from '../events/use/republish-lost-events.ts';
import { releaseCommissionsJob } from '../follow-ups/release-commissions.ts';
import { DynamoDbCommissions } from '../follow-ups/store/dynamodb-commissions.ts';
import { jobTelemetry } from '../jobs/http/job-telemetry.ts';
import { jobWorker } from '../jobs/http/job-worker.ts';
import { readJobWorkerConfig } from '../jobs/settings.ts';
import { DynamoDbJobMarks } from '../jobs/store/dynamodb-job-marks.ts';
import { DynamoDbJobRuns } from '../jobs/store/dynamodb-job-runs.ts';
import { configuredJobTasks } from '../jobs/store/sqs-job-tasks.ts';
import type { Job } from '../jobs/use/job.ts';
import { workRun } from '../jobs/use/work-run.ts';
import { EventMetric } from '../kernel/contract/events.ts';
import type { JobOf } from '../kernel/contract/jobs.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { booksTelemetry } from '../reconciling/http/books-telemetry.ts';
import { DynamoDbExpiredRecords, DynamoDbTimeToLive } from '../reconciling/store/dynamodb-expired-records.ts';
import { purgeExpired } from '../reconciling/use/purge-expired.ts';
import { reconcileDays, reconcileRecent } from '../reconciling/use/reconcile.ts';
import { DynamoDbOwners } from '../tenants/store/tenant-owners.ts';
import { readViewsTable } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { closeAllDays } from '../views/use/close-all-days.ts';
import { ProjectedEvents } from '../views/use/seen-events.ts';
import { readWebhookConfig } from '../webhooks/settings.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { configuredTasks } from '../webhooks/transport/webhook-clients.ts';
import { sweepWebhooksJob } from '../webhooks/use/sweep-webhooks.ts';

const NAME = 'upkeep-jobs';
const payments = readPaymentsConfig(process.env, PROCESSORS);
const webhooks = readWebhookConfig(process.env);
const lostEvents = readLostEventsConfig(process.env);
const { queueUrl, parkingQueueUrl } = readJobWorkerConfig(process.env, 'upkeep');
const { tables } = payments;
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const jobs = jobTelemetry(NAME);
const telemetry = standardTelemetry(NAME);
const report = (error: unknown): void => telemetry.fault(NAME, error);
const { books } = await configuredProcessors(payments, systemClock);
const store = new DynamoDbStore(client, tables, pacing);
const transitions = new LedgerChains(client, tables, pacing);
const views = new DynamoDbViews(client, readViewsTable(process.env), pacing);

/** The worker of the jobs that append nothing to the Ledger. */
export const handler = idempotently(
  { unit: 'a page of a run', record: "the run's own row, saved under the job's lock" },
  (runner) => {
    const tools = {
      runs: new DynamoDbJobRuns(client, tables, pacing),
      tasks: configuredJobTasks({ upkeep: queueUrl }),
      jobs: { ...sweepingJobs(runner), ...bookkeepingJobs() } satisfies Readonly<Record<JobOf<'upkeep'>, Job>>,
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

const MINUTE_MS = 60_000;

function sweepingJobs(runner: OperationRunner) {
  return {
    'sweep-webhooks': sweepWebhooksJob(
      {
        due: new DynamoDbWebhooks(client, webhooks.tables, pacing, report),
        tasks: configuredTasks(webhooks),
        clock: systemClock,
      },
      (swept) => telemetry.run('sweep webhooks', { webhook_swept: swept }, { swept }),
    ),
    'republish-events': republishLostEvents({
      transitions,
      age: transitions,
      lostAfterMs: lostEvents.lostAfterSeconds * 1000,
      seen: new ProjectedEvents(views),
      publisher: new EventBridgePublisher(eventBridgeClient(), lostEvents.eventBus),
      marks: new DynamoDbJobMarks(client, tables.registry, pacing),
      runner,
      digest: systemDigest,
      report,
      beyondReach: (fromMs, untilMs) => {
        const minutes = (untilMs - fromMs) / MINUTE_MS;
        telemetry.run('republish events', { [EventMetric.beyondReach]: minutes }, { fromMs, untilMs, minutes });
      },
      ...pacing,
    }),
    'release-commissions': releaseCommissionsJob({
      book: new DynamoDbCommissions({ client, table: tables.registry, pacing, unreadable: report }),
      payments: store,
      records: new DynamoDbConsumerRecords(client, tables, pacing),
      digest: systemDigest,
      ...pacing,
    }),
  } satisfies Partial<Record<JobOf<'upkeep'>, Job>>;
}

function bookkeepingJobs() {
  const observer = booksTelemetry();
  const reconciled = {
    books,
    outcomes: transitions,
    effects: store,
    views,
    digest: systemDigest,
    clock: systemClock,
    observer,
  };
  return {
    'reconcile-recent': reconcileRecent(reconciled),
    'reconcile-days': reconcileDays(reconciled),
    'close-days': closeAllDays({ owners: new DynamoDbOwners(client, tables.registry, pacing), views, ...pacing }),
    'purge-expired': purgeExpired({
      records: new DynamoDbExpiredRecords(client, tables.idempotency, pacing),
      timeToLive: new DynamoDbTimeToLive(
        client,
        { idempotency: tables.idempotency, registry: tables.registry },
        pacing,
      ),
      clock: systemClock,
      observer,
    }),
  } satisfies Partial<Record<JobOf<'upkeep'>, Job>>;
}
