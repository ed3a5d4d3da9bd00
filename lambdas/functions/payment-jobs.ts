import { configuredAuthority } from '../authority/configured-authority.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import type { JobOf } from '../jobs/contract/jobs.ts';
import { jobTelemetry } from '../jobs/http/job-telemetry.ts';
import { createJobQueueHandler } from '../jobs/http/job-worker.ts';
import { readJobWorkerConfig } from '../jobs/settings.ts';
import { DynamoDbJobMarks } from '../jobs/store/dynamodb-job-marks.ts';
import { DynamoDbJobRuns } from '../jobs/store/dynamodb-job-runs.ts';
import { configuredJobTasks } from '../jobs/store/sqs-job-tasks.ts';
import type { Job } from '../jobs/use/job.ts';
import { workRun } from '../jobs/use/work-run.ts';
import { ALARM_RUN, type AlarmMetric } from '../kernel/contract/metrics.ts';
import { secrets } from '../kernel/platform/secrets-manager.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry, type Telemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { configuredParties, type PartiesTools } from '../orders/parties/configured-parties.ts';
import { readPartiesConfig } from '../orders/parties/settings.ts';
import { DynamoDbOrders } from '../orders/store/dynamodb-orders.ts';
import { isCircuitOpen } from '../outbound/circuit-breaker.ts';
import { callOnce } from '../outbound/http-call.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { HOLDS } from '../payments/store/queue-items.ts';
import { configuredProcessors, type ProcessorsPlatform } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { booksBreaker, retryingBooks } from '../processors/retrying-books.ts';
import { type PaymentsConfig, readPaymentsConfig } from '../processors/settings.ts';
import { backlogTelemetry } from '../resolving/http/backlog-telemetry.ts';
import { DynamoDbDueQueue } from '../resolving/store/dynamodb-due-queue.ts';
import { DynamoDbUnfinishedWork } from '../resolving/store/dynamodb-unfinished.ts';
import { expireAuthorizationsJob } from '../resolving/use/expire-authorizations.ts';
import { observedWork } from '../resolving/use/observed-work.ts';
import type { Resolved } from '../resolving/use/process-entries.ts';
import { resolveJob } from '../resolving/use/resolve-all.ts';
import { type RetriedOrphans, retryOrphansJob } from '../resolving/use/retry-orphans.ts';

const NAME = 'payment-jobs';

/** The jobs that may move money or write to the Ledger. */
export const handler = await idempotently(
  { unit: 'a page of a run', record: 'the row of the run, saved while the run holds the lock of its job' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...secrets, send: callOnce }, runner),
);

export async function wire(
  platform: Platform & ProcessorsPlatform & PartiesTools,
  runner: OperationRunner,
  processors = PROCESSORS,
) {
  const { documents, clock, entropy, instruments } = platform;
  const config = readPaymentsConfig(platform.variables, processors);
  const { queueUrl, parkingQueueUrl } = readJobWorkerConfig(platform.variables, 'payments');
  const jobs = jobTelemetry(NAME, instruments);
  const tools = {
    runs: new DynamoDbJobRuns(documents, config.tables, { clock, entropy }),
    tasks: configuredJobTasks(platform, { payments: queueUrl }),
    jobs: await paymentJobs(platform, config, runner),
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

async function paymentJobs(
  platform: Platform & ProcessorsPlatform & PartiesTools,
  config: PaymentsConfig,
  runner: OperationRunner,
) {
  const { documents, clock, entropy, retention, digest, instruments } = platform;
  const { tables } = config;
  const partiesConfig = readPartiesConfig(platform.variables);
  const pacing = { clock, entropy, retention };
  const telemetry = standardTelemetry(NAME, instruments);
  /** The unreadable row stays in its queue, so every read reports it again. */
  const unreadable = (error: unknown): void => {
    telemetry.fault(NAME, error);
    telemetry.run('resolve unreadable', {}, { unreadable: 1 });
    telemetry.run(ALARM_RUN, { undecidable: 1 }, {});
  };
  const { client, postgres } = await configuredAuthority(platform, tables);
  const store = postgres?.store ?? new DynamoDbStore(client, tables, pacing);
  const effects = postgres?.effects(unreadable) ?? new DynamoDbEffects(client, tables, pacing, store, unreadable);
  const processors = await configuredProcessors(config, platform);
  const payments = {
    store,
    effects,
    ...processors,
    books: processors.books.map((books) => retryingBooks(books, pacing, booksBreaker(clock))),
    runner,
    replays: postgres?.replays ?? new ProcessReplayCache(),
    copies: postgres?.copies,
    digest,
    report: (error: unknown) => {
      // Do not report a call that an open circuit breaker refused: a run can have a thousand such calls, and the
      // failures that opened the breaker were already reported.
      if (!isCircuitOpen(error, 'processor')) telemetry.fault(NAME, error);
    },
    // Write the alarm's metric immediately, so that a later crash does not lose it.
    alarm: (what: AlarmMetric, about: string) => telemetry.run(ALARM_RUN, { [what]: 1 }, { [what]: about }),
    ...pacing,
  };
  return {
    resolve: resolveJob({
      ...payments,
      work: observedWork(
        postgres?.work(unreadable) ?? new DynamoDbUnfinishedWork(client, tables, pacing, unreadable),
        clock,
        backlogTelemetry(instruments),
      ),
      orders: postgres?.orders(unreadable) ?? new DynamoDbOrders(client, tables, pacing, store, unreadable),
      // Without settings for the external services of orders, the deployment accepts no orders.
      ...(partiesConfig === undefined ? {} : { parties: await configuredParties(partiesConfig, platform) }),
      onResolved: (queue, resolved) => reportResolved(telemetry, queue, resolved),
    }),
    'retry-orphans': retryOrphansJob({ ...payments, orphanStore: effects }, (retried) =>
      reportRetried(telemetry, retried),
    ),
    'expire-authorizations': expireAuthorizationsJob({
      ...payments,
      holds: postgres?.holds ?? new DynamoDbDueQueue({ client, table: tables.registry, pacing, unreadable }, HOLDS),
    }),
    ...(postgres === undefined
      ? {}
      : { carry: postgres.carryJob(new DynamoDbJobMarks(documents, tables.registry, pacing)) }),
  } satisfies Readonly<Record<JobOf<'payments'>, Job>>;
}

function reportResolved(telemetry: Telemetry, queue: string, resolved: Resolved): void {
  telemetry.run(`resolve ${queue}`, { resolved: resolved.finished, unavailable: resolved.failed }, { ...resolved });
}

function reportRetried(telemetry: Telemetry, retried: RetriedOrphans): void {
  const counts = { orphan_adopted: retried.adopted, orphan_given_up: retried.givenUp };
  telemetry.run('retry orphaned callbacks', counts, { ...retried });
}
