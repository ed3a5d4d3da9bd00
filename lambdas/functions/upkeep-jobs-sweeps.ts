import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { EventBridgePublisher, eventBridgeClient } from '../events/store/eventbridge-publisher.ts';
import { republishLostEvents } from '../events/use/republish-lost-events.ts';
import { releaseCommissionsJob } from '../follow-ups/release-commissions.ts';
import { DynamoDbCommissions } from '../follow-ups/store/dynamodb-commissions.ts';
import { DynamoDbJobMarks } from '../jobs/store/dynamodb-job-marks.ts';
import type { Job } from '../jobs/use/job.ts';
import { EventMetric } from '../kernel/contract/events.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import type { Telemetry } from '../kernel/platform/telemetry.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { LedgerTransitions } from '../payments/store/ledger-transitions.ts';
import type { UpkeepSweepsConfig } from '../reconciling/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { ProjectedEvents } from '../views/use/seen-events.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { configuredTasks } from '../webhooks/transport/webhook-clients.ts';
import { sweepWebhooksJob } from '../webhooks/use/sweep-webhooks.ts';

export interface UpkeepSweepsParts {
  readonly config: UpkeepSweepsConfig;
  readonly client: DynamoDBDocumentClient;
  readonly telemetry: Telemetry;
}

const MINUTE_MS = 60_000;

/** The jobs that keep house by sweeping, on what this function was deployed with. */
export function upkeepSweeps({
  config,
  client,
  telemetry,
}: UpkeepSweepsParts): Readonly<Record<'sweep-webhooks' | 'republish-events' | 'release-commissions', Job>> {
  const { webhooks, publisher, viewsTable } = config;
  const { registry } = webhooks.tables;
  const pacing = { clock: systemClock, entropy: systemEntropy };
  const common = { digest: systemDigest, ...pacing };
  const transitions = new LedgerTransitions(client, publisher.ledgerTable, pacing);
  const report = (error: unknown): void => telemetry.fault('upkeep-jobs', error);
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
      ...common,
      transitions,
      age: transitions,
      lostAfterMs: config.lostAfterSeconds * 1000,
      seen: new ProjectedEvents(new DynamoDbViews(client, viewsTable, pacing)),
      publisher: new EventBridgePublisher(eventBridgeClient(), publisher.eventBus),
      marks: new DynamoDbJobMarks(client, registry, pacing),
      report,
      beyondReach: (fromMs, untilMs) => {
        const minutes = (untilMs - fromMs) / MINUTE_MS;
        telemetry.run('republish events', { [EventMetric.beyondReach]: minutes }, { fromMs, untilMs, minutes });
      },
    }),
    'release-commissions': releaseCommissionsJob({
      ...common,
      book: new DynamoDbCommissions({ client, table: registry, pacing, unreadable: report }),
      payments: new DynamoDbStore(client, { ...webhooks.tables, ledger: publisher.ledgerTable }, pacing),
      records: new DynamoDbConsumerRecords(client, webhooks.tables, pacing),
    }),
  };
}
