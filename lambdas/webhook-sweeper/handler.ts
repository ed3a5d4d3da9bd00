import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbWebhooks } from '../adapters/dynamodb/dynamodb-webhooks.ts';
import { systemClock, systemEntropy } from '../adapters/system/platform.ts';
import { configuredTasks } from '../adapters/webhooks/webhook-clients.ts';
import { sweepWebhooks } from '../app/sweep-webhooks.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { readWebhookConfig } from '../runtime/webhook-config.ts';

const config = readWebhookConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const due = new DynamoDbWebhooks(documentClient(), config.tables, pacing);
const tasks = configuredTasks(config);
const telemetry = standardTelemetry('webhook-sweeper');

/** Brings back webhooks whose wait has ended, or whose message was lost. Run by the clock. */
export async function handler(): Promise<{ readonly swept: number }> {
  const swept = await sweepWebhooks({ due, tasks, clock: systemClock });
  telemetry.run('sweep webhooks', { webhook_swept: swept }, { swept });
  return { swept };
}
