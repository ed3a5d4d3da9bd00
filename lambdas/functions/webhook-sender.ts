import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { eventsOfRange, readEvent } from '../views/use/read-event.ts';
import { runWebhookTasks } from '../webhooks/http/webhook-tasks.ts';
import { readSenderConfig } from '../webhooks/settings.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { systemResolve } from '../webhooks/transport/addresses.ts';
import { configuredSecrets, configuredTasks } from '../webhooks/transport/webhook-clients.ts';
import { webhookTransport } from '../webhooks/transport/webhook-transport.ts';
import type { PastEvents } from '../webhooks/use/webhooks.ts';

const config = readSenderConfig(process.env);
const { allowLoopback } = config;
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = standardTelemetry('webhook-sender');
const views = new DynamoDbViews(client, config.viewsTable, pacing);
const pastEvents: PastEvents = (range) => eventsOfRange(views, range);
const transitions = new LedgerChains(client, { ...config.tables, ledger: config.ledgerTable }, pacing);
const tools = {
  webhooks: new DynamoDbWebhooks(client, config.tables, pacing),
  pastEvents,
  bodies: async (eventId: string) => {
    const found = await readEvent({ transitions, digest: systemDigest }, eventId);
    return found && JSON.stringify(found.event);
  },
  secrets: configuredSecrets(config, systemClock),
  transport: webhookTransport({ allowLoopback, resolve: systemResolve }),
  tasks: configuredTasks(config),
  digest: systemDigest,
  telemetry,
  report: (error: unknown) => telemetry.fault('enqueue webhooks', error),
  ...pacing,
};

/** Sends due deliveries, and processes pages of range replays. */
export const handler = idempotently(
  { unit: 'an attempt of a delivery, or a page of a replay', record: 'the row of the delivery, or of the replay' },
  (runner) =>
    (event: SQSEvent): Promise<SQSBatchResponse> =>
      runWebhookTasks({ ...tools, runner }, event),
);
