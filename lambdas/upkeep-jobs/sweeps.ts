import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DynamoDbCommissions } from '../adapters/dynamodb/dynamodb-commissions.ts';
import { DynamoDbConsumerRecords } from '../adapters/dynamodb/dynamodb-consumer-records.ts';
import { DynamoDbJobMarks } from '../adapters/dynamodb/dynamodb-job-marks.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { DynamoDbViews } from '../adapters/dynamodb/dynamodb-views.ts';
import { DynamoDbWebhooks } from '../adapters/dynamodb/dynamodb-webhooks.ts';
import { LedgerTransitions } from '../adapters/dynamodb/ledger-transitions.ts';
import { EventBridgePublisher, eventBridgeClient } from '../adapters/eventbridge/eventbridge-publisher.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { configuredTasks } from '../adapters/webhooks/webhook-clients.ts';
import type { Job } from '../app/job.ts';
import { releaseCommissionsJob } from '../app/release-commissions.ts';
import { republishLostJob } from '../app/republish-lost.ts';
import { ProjectedEvents } from '../app/seen-events.ts';
import { sweepWebhooksJob } from '../app/sweep-webhooks.ts';
import { EventMetric } from '../contract/events.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { UpkeepSweepsConfig } from '../runtime/upkeep-sweeps-config.ts';

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
    'republish-events': republishLostJob({
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
