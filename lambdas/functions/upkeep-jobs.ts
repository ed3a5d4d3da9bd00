import { configuredAuthority } from '../authority/configured-authority.ts';
import { lateEvents, RELAY } from '../events/http/event-telemetry.ts';
import { readLostEventsConfig } from '../events/settings.ts';
import { EventBridgePublisher, eventBridgeClient } from '../events/store/eventbridge-publisher.ts';
import { parkedRangeBody } from '../events/store/parked-work.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { publishAll } from '../events/use/publish-events.ts';
import { republishLostEventsJob } from '../events/use/republish-lost-events.ts';
import { readWriterName } from '../exports/settings.ts';
import { DynamoDbExports } from '../exports/store/dynamodb-exports.ts';
import { lambdaWriters } from '../exports/store/lambda-writers.ts';
import { resumeExports } from '../exports/use/resume-exports.ts';
import { releaseCommissionsJob } from '../follow-ups/release-commissions.ts';
import { DynamoDbCommissions } from '../follow-ups/store/dynamodb-commissions.ts';
import type { JobOf } from '../jobs/contract/jobs.ts';
import { jobTelemetry } from '../jobs/http/job-telemetry.ts';
import { createJobQueueHandler } from '../jobs/http/job-worker.ts';
import { readAuthority, readJobWorkerConfig, readListedJobs, readOwnJobs } from '../jobs/settings.ts';
import { DynamoDbJobMarks } from '../jobs/store/dynamodb-job-marks.ts';
import { DynamoDbJobRuns } from '../jobs/store/dynamodb-job-runs.ts';
import { configuredJobTasks } from '../jobs/store/sqs-job-tasks.ts';
import { readCarriedUntil } from '../jobs/use/carried-until.ts';
import type { Job } from '../jobs/use/job.ts';
import type { JobMarks } from '../jobs/use/job-marks.ts';
import { withOverdueReport } from '../jobs/use/overdue-jobs.ts';
import { sweepsJob } from '../jobs/use/pieces-job.ts';
import { workRun } from '../jobs/use/work-run.ts';
import { EventMetric } from '../kernel/contract/events.ts';
import { ALARM_RUN } from '../kernel/contract/metrics.ts';
import { lambdaClient } from '../kernel/platform/lambda.ts';
import { countWaiting } from '../kernel/platform/long-waits.ts';
import type { Secrets } from '../kernel/platform/secrets-manager.ts';
import { queues } from '../kernel/platform/sqs.ts';
import {
  type Bus,
  type Functions,
  lazySecrets,
  type Platform,
  type Queues,
  systemPlatform,
} from '../kernel/platform/system-platform.ts';
import { standardTelemetry, type Telemetry } from '../kernel/platform/telemetry.ts';
import type { Variables } from '../kernel/platform/variables.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessRecords } from '../once/process-records.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { purgeTelemetry } from '../operators/http/purge-telemetry.ts';
import { DynamoDbExpiredRecords, DynamoDbTimeToLive } from '../operators/store/dynamodb-expired-records.ts';
import { SqsQueues } from '../operators/store/sqs-queues.ts';
import { purgeExpiredJob } from '../operators/use/purge-expired.ts';
import { DynamoDbOrders } from '../orders/store/dynamodb-orders.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';
import { callOnce } from '../outbound/http-call.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import type { ProcessorBooks } from '../payments/use/processor.ts';
import { configuredProcessors, type ProcessorsPlatform } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { retryingBooks } from '../processors/retrying-books.ts';
import { type PaymentsConfig, readPaymentsConfig } from '../processors/settings.ts';
import { booksTelemetry } from '../reconciliation/http/books-telemetry.ts';
import { reconcileDaysJob, reconcileRecentJob } from '../reconciliation/use/reconcile.ts';
import { DynamoDbOwners } from '../tenants/store/tenant-owners.ts';
import { readViewsTable } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { closeAllDaysJob } from '../views/use/close-all-days.ts';
import { ProjectedEvents } from '../views/use/projected-events.ts';
import { readWebhookConfig } from '../webhooks/settings.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { configuredTasks } from '../webhooks/transport/webhook-clients.ts';
import { sweepWebhooksPiece } from '../webhooks/use/sweep-webhooks.ts';

const NAME = 'upkeep-jobs';

/** The jobs that append nothing to the Ledger. */
export const handler = await idempotently(
  { unit: 'a page of a run', record: 'the row of the run, saved while the run holds the lock of its job' },
  (runner) =>
    wire(
      {
        ...systemPlatform(),
        ...queues,
        ...lazySecrets,
        send: callOnce,
        eventBridge: eventBridgeClient,
        lambda: lambdaClient,
      },
      runner,
    ),
);

export async function wire(
  platform: Platform & ProcessorsPlatform & Queues & Bus & Functions,
  runner: OperationRunner,
  processors = PROCESSORS,
) {
  const { clock, instruments } = platform;
  const { queueUrl, parkingQueueUrl } = readJobWorkerConfig(platform.variables, 'upkeep');
  const payments = readPaymentsConfig(platform.variables, processors);
  const { books } = await configuredProcessors(payments, platform);
  const stores = await openStores(platform, payments);
  const jobs = jobTelemetry(NAME, instruments);
  const runs = new DynamoDbJobRuns(platform.documents, payments.tables, stores.pacing);
  const sweeping = sweepingJobs(platform, stores, runner);
  const tools = {
    runs,
    tasks: configuredJobTasks(platform, { upkeep: queueUrl }),
    jobs: {
      ...sweeping,
      'sweep-webhooks': withOverdueReport(sweeping['sweep-webhooks'], {
        runs,
        marks: stores.marked.marks,
        watched: [...readOwnJobs(platform.variables), ...readListedJobs(platform.variables)],
        clock,
        reportOverdue: jobs.overdue,
        report: (error) => jobs.fault(NAME, error),
      }),
      ...bookkeepingJobs(
        platform,
        stores,
        books.map((each) => retryingBooks(each, stores.pacing)),
      ),
    } satisfies Readonly<Record<JobOf<'upkeep'>, Job>>,
    observer: jobs,
    runner,
    clock,
  };
  return createJobQueueHandler({
    work: (message, receives) => workRun(tools, message, receives),
    parking: configuredParking(platform, parkingQueueUrl),
    telemetry: jobs,
  });
}

async function openStores(platform: Platform & Secrets, { tables }: PaymentsConfig) {
  const { documents, clock, entropy, retention, variables } = platform;
  const pacing = { clock, entropy, retention };
  const { client, postgres } = await configuredAuthority(platform, tables);
  return {
    tables,
    pacing,
    client,
    postgres,
    store: postgres?.store ?? new DynamoDbStore(client, tables, pacing),
    transitions: new LedgerChains(documents, tables, pacing),
    views: new DynamoDbViews(documents, readViewsTable(variables), pacing),
    marked: markedJobs(variables, new DynamoDbJobMarks(documents, tables.registry, pacing)),
  };
}

/**
 * Returns the store of marks. A mark is the position up to which a job has processed everything. If PostgreSQL is the
 * authority, the Ledger is a copy, and a mark must not move past rows that are not copied yet. In this case, also
 * returns functions that read the time until which the copy is complete.
 */
function markedJobs(variables: Variables, marks: JobMarks) {
  if (readAuthority(variables) === 'dynamodb') return { marks };
  const carriedUntil = async () => (await readCarriedUntil(marks)) ?? { untilMs: 0, latestMs: 0 };
  return { marks, carriedUntil, completeUntilMs: async () => (await carriedUntil()).untilMs };
}

const MINUTE_MS = 60_000;

function reportBeyondReach(telemetry: Pick<Telemetry, 'run'>) {
  return (fromMs: number, untilMs: number): void => {
    const minutes = Math.ceil((untilMs - fromMs) / MINUTE_MS);
    telemetry.run('republish events', { [EventMetric.beyondReach]: minutes }, { fromMs, untilMs, minutes });
  };
}

function sweepingJobs(
  platform: Platform & Queues & Bus & Functions,
  { tables, pacing, client, postgres, store, transitions, views, marked }: Awaited<ReturnType<typeof openStores>>,
  runner: OperationRunner,
) {
  const { documents, clock, entropy, digest } = platform;
  const webhooks = readWebhookConfig(platform.variables);
  const lostEvents = readLostEventsConfig(platform.variables);
  const parking = configuredParking(platform, lostEvents.parkingQueueUrl);
  const publisher = new EventBridgePublisher(platform.eventBridge(), lostEvents.eventBus);
  const projector = { url: lostEvents.projectorQueueUrl, isKept: false };
  const sqsQueues = new SqsQueues(platform.sqs({ maxAttempts: 2 }), { projector }, clock);
  const telemetry = standardTelemetry(NAME, platform.instruments);
  const relay = standardTelemetry(RELAY, platform.instruments);
  const report = (error: unknown): void => telemetry.fault(NAME, error);
  const deliveries = new DynamoDbWebhooks(documents, webhooks.tables, pacing, report);
  return {
    'sweep-webhooks': sweepsJob({
      due: sweepWebhooksPiece(
        {
          webhooks: deliveries,
          due: deliveries,
          tasks: configuredTasks(platform, webhooks),
          publish: (events) => publishAll({ publisher, clock, entropy }, events),
          clock,
          waiting: (rows) => countWaiting(platform.instruments, rows),
          report,
        },
        (swept) => telemetry.run('sweep webhooks', { webhook_swept: swept }, { swept }),
      ),
      exports: (run) =>
        resumeExports(
          {
            exports: new DynamoDbExports(documents, tables, pacing, report),
            startWriter: lambdaWriters(platform.lambda(), readWriterName(platform.variables)),
            clock,
            report,
          },
          run,
        ),
    }),
    'republish-events': republishLostEventsJob({
      transitions,
      lostAfterMs: lostEvents.lostAfterSeconds * 1000,
      processed: new ProjectedEvents(views),
      queued: () => sqsQueues.count('projector'),
      publisher,
      ...marked,
      runner,
      digest,
      report,
      late: lateEvents(platform),
      park: (range, detail) => parking.park({ body: parkedRangeBody(range), reason: 'unpublishable', detail }),
      review: {
        alarm: (id) => relay.run(ALARM_RUN, { [EventMetric.toReview]: 1 }, { [EventMetric.toReview]: id }),
        alarmed: new ProcessRecords<true>(),
      },
      beyondReach: reportBeyondReach(telemetry),
      ...pacing,
    }),
    'release-commissions': releaseCommissionsJob({
      book: new DynamoDbCommissions({ client: documents, table: tables.registry, pacing, unreadable: report }),
      payments: store,
      orders: postgres?.orders() ?? new DynamoDbOrders(client, tables, pacing, store),
      records: new DynamoDbConsumerRecords(documents, tables, pacing),
      digest,
      ...pacing,
    }),
  } satisfies Partial<Record<JobOf<'upkeep'>, Job>>;
}

function bookkeepingJobs(
  { documents, clock, digest, instruments }: Platform,
  { tables, pacing, client, postgres, store, transitions, views, marked }: Awaited<ReturnType<typeof openStores>>,
  books: readonly ProcessorBooks[],
) {
  const telemetry = standardTelemetry(NAME, instruments);
  const report = (error: unknown): void => telemetry.fault(NAME, error);
  const reconciled = {
    books,
    outcomes: transitions,
    effects: postgres?.effects() ?? new DynamoDbEffects(client, tables, pacing, store),
    views,
    ...marked,
    digest,
    clock,
    observer: booksTelemetry(instruments),
    report,
  };
  return {
    'reconcile-recent': reconcileRecentJob(reconciled),
    'reconcile-days': reconcileDaysJob(reconciled),
    'close-days': closeAllDaysJob({
      owners: new DynamoDbOwners(documents, tables.registry, pacing, report),
      views,
      ...pacing,
    }),
    'purge-expired': purgeExpiredJob({
      records: new DynamoDbExpiredRecords(documents, tables.idempotency, pacing),
      ...(postgres === undefined ? {} : { withoutTimeToLive: postgres.expired }),
      timeToLive: new DynamoDbTimeToLive(
        documents,
        { idempotency: tables.idempotency, registry: tables.registry },
        pacing,
      ),
      clock,
      observer: purgeTelemetry(instruments),
    }),
  } satisfies Partial<Record<JobOf<'upkeep'>, Job>>;
}
