import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbWebhooks } from '../adapters/dynamodb/dynamodb-webhooks.ts';
import { LedgerTransitions } from '../adapters/dynamodb/ledger-transitions.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { systemResolve } from '../adapters/webhooks/addresses.ts';
import { configuredSecrets, configuredTasks } from '../adapters/webhooks/webhook-clients.ts';
import { webhookTransport } from '../adapters/webhooks/webhook-transport.ts';
import { ledgerPastEvents } from '../app/past-events.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { readSenderConfig } from '../runtime/webhook-config.ts';
import { runWebhookTasks } from './webhook-tasks.ts';

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
export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  return runWebhookTasks(tools, event);
}
