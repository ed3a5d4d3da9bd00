import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { RemainingTime } from '../events/http/message-batch.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import type { Secrets } from '../kernel/platform/secrets-manager.ts';
import { secrets } from '../kernel/platform/secrets-manager.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { eventsOfRange, readEvent } from '../views/use/read-event.ts';
import { runWebhookTasks } from '../webhooks/http/webhook-tasks.ts';
import { readSenderConfig } from '../webhooks/settings.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { type AddressRulesOptions, systemResolve } from '../webhooks/transport/addresses.ts';
import { configuredSecrets, configuredTasks } from '../webhooks/transport/webhook-clients.ts';
import { webhookTransport } from '../webhooks/transport/webhook-transport.ts';
import type { PastEvents, WebhookTransport } from '../webhooks/use/webhooks.ts';

interface Posting {
  readonly webhookTransport: (rules: AddressRulesOptions) => WebhookTransport;
}

const posting: Posting = { webhookTransport: (rules) => webhookTransport({ ...rules, resolve: systemResolve }) };

export const handler = await idempotently(
  { unit: 'a delivery attempt, or a page of a replay', record: 'the row of the delivery or of the replay' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...secrets, ...posting }, runner),
);

export async function wire(platform: Platform & Queues & Secrets & Posting, runner: OperationRunner) {
  const { documents, clock, entropy, retention, digest } = platform;
  const config = readSenderConfig(platform.variables);
  const pacing = { clock, entropy, retention };
  const telemetry = standardTelemetry('webhook-sender', platform.instruments);
  const views = new DynamoDbViews(documents, config.viewsTable, pacing);
  const pastEvents: PastEvents = (range) => eventsOfRange(views, range);
  const transitions = new LedgerChains(documents, { ...config.tables, ledger: config.ledgerTable }, pacing);
  const webhooks = new DynamoDbWebhooks(documents, config.tables, pacing, (error) =>
    telemetry.fault('read a lane', error),
  );
  const tools = {
    webhooks,
    due: webhooks,
    pastEvents,
    bodies: async (eventId: string) => {
      const found = await readEvent({ transitions, digest }, eventId);
      return found && JSON.stringify(found.event);
    },
    secrets: await configuredSecrets(platform, config),
    transport: platform.webhookTransport({ allowLoopback: config.allowLoopback }),
    tasks: configuredTasks(platform, config),
    runner,
    digest,
    parking: configuredParking(platform, config.parkingQueueUrl),
    telemetry,
    report: (error: unknown) => telemetry.fault('enqueue webhooks', error),
    ...pacing,
  };
  return (event: SQSEvent, context?: RemainingTime): Promise<SQSBatchResponse> =>
    runWebhookTasks(tools, event, context);
}
