import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { Pacing } from '../../lambdas/kernel/platform/attempts.ts';
import { systemClock, systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { DynamoDbWebhooks } from '../../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import type { GroupedTask, WebhookTask } from '../../lambdas/webhooks/use/webhooks.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { endpointNamed, SECRETS } from '../webhooks/webhook-fixtures.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';
import { TABLES } from '../world/tables.ts';

/** 128 bits in base 32, the length of production ids. */
const LONG_ID = 'abcdefghijklmnopqrstuvwxyz';

/** The fields have production length. */
export function typicalPayment(key: string, changes: Partial<CreatePayment> = {}): CreatePayment {
  const body = { amount: 12_500, currency: 'EUR', source: 'tok_ok', ...changes };
  return {
    paymentId: paymentIdFor(key),
    tenantId: tenantId(`ten_${LONG_ID}`),
    mode: 'test',
    fingerprint: fingerprintOf(systemDigest, { body: JSON.parse(JSON.stringify(body)), query: {} }),
    requestId: BY_REQUEST.requestId,
    cause: BY_REQUEST,
    amountMinor: 12_500,
    currency: 'EUR',
    source: 'tok_ok',
    capture: 'automatic',
    ...changes,
  };
}

/** The ids have production length. */
export function typicalProcessor(): SandboxInProcess {
  const newId = (prefix: string, count: number) => `${prefix}${LONG_ID}${count}`;
  const processor = createSandboxInProcess({ clock: systemClock, newId });
  return {
    ...processor,
    endpoint: 'https://a1b2c3d4e5.execute-api.us-east-1.amazonaws.com/sandbox',
    apiVersion: '2026-03-01',
  };
}

/** A measurement with it excludes the processor. */
export function trivialProcessor(): SandboxInProcess {
  const ready = async (): Promise<void> => undefined;
  const charge: SandboxInProcess['charge'] = async () => ({ kind: 'succeeded', chargeId: `ch_${LONG_ID}` });
  return { ...typicalProcessor(), ready, charge };
}

/** The tenant's only endpoint responds with 200. `deliver` sends the queued webhooks. */
export async function typicalTools(client: DynamoDBDocumentClient, pacing: Pacing) {
  const tasks: WebhookTask[] = [];
  const tools = {
    ...pacing,
    store: new DynamoDbStore(client, TABLES, pacing),
    webhooks: new DynamoDbWebhooks(client, TABLES, pacing),
    views: new DynamoDbViews(client, TABLES.views, pacing),
    processor: typicalProcessor(),
    runner: idempotentRunner,
    replays: new ProcessReplayCache(),
    digest: systemDigest,
    secrets: SECRETS,
    tasks: { enqueue: async (more: readonly GroupedTask[]) => void tasks.push(...more.map(({ task }) => task)) },
    transport: { post: async () => ({ kind: 'answered', status: 200, excerpt: 'x'.repeat(256) }) as const },
    bodies: async () => '{}',
    report: (error: unknown) => {
      throw error;
    },
  };
  const { tenantId: tenant, mode } = typicalPayment('endpoint');
  const was = await tools.webhooks.readBook({ tenantId: tenant, mode });
  await tools.webhooks.write({ book: { was, now: { ...was, revision: 1, endpoints: [endpointNamed('hot')] } } });
  const deliver = async (): Promise<void> => {
    for (const task of tasks.splice(0)) {
      if (task.kind !== 'attempt') continue;
      const result = await sendWebhook(tools, task.endpointId, task.deliveryId);
      if (result !== 'delivered') throw new Error(`the webhook attempt ended as ${result}`);
    }
  };
  return { tools, deliver };
}
