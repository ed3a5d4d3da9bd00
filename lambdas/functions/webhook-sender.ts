import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { LedgerTransitions } from '../payments/store/ledger-transitions.ts';
import { runWebhookTasks } from '../webhooks/http/webhook-tasks.ts';
import { readSenderConfig } from '../webhooks/settings.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { systemResolve } from '../webhooks/transport/addresses.ts';
import { configuredSecrets, configuredTasks } from '../webhooks/transport/webhook-clients.ts';
import { webhookTransport } from '../webhooks/transport/webhook-transport.ts';
import { ledgerPastEvents } from '../webhooks/use/past-events.ts';

const config = readSenderConfig(process.env);
const { allowLoopback } = config;
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = standardTelemetry('webhook-sender');
const transitions = new LedgerTransitions(client, config.ledgerTable, pacing);
const tools = {
  webhooks: new DynamoDbWebhooks(client, config.tables, pacing),
  pastEvents: ledgerPastEvents(transitions, systemDigest, (error) => telemetry.fault('past events', error)),
  secrets: configuredSecrets(config, systemClock),
  transport: webhookTransport({ allowLoopback, resolve: systemResolve }),
  tasks: configuredTasks(config),
  digest: systemDigest,
  telemetry,
  report: (error: unknown) => telemetry.fault('enqueue webhooks', error),
  ...pacing,
};

/** Sends what is due. */
export const handler = idempotently(
  { unit: 'an attempt of a delivery, or a page of a replay', record: 'the row of the delivery, or of the replay' },
  (runner) =>
    (event: SQSEvent): Promise<SQSBatchResponse> =>
      runWebhookTasks({ ...tools, runner }, event),
);
