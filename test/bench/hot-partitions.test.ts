import { expect, test } from '@jest/globals';
import { systemClock, systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { createPayment } from '../../lambdas/payments/use/create-payment.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { DynamoDbWebhooks } from '../../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { fanOut } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import type { WebhookTask } from '../../lambdas/webhooks/use/webhooks.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { endpointNamed, SECRETS } from '../webhooks/webhook-fixtures.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';
import { PartitionMeter } from './bench-partition-meter.ts';
import { typicalPayment, typicalProcessor } from './bench-typical-payment.ts';

const PAYMENTS = 1_000;
/** Half of what a partition takes in a second (Amazon DynamoDB developer guide, "Burst and adaptive capacity"). */
const MOST_UNITS = 500;

/** Pays, projects, fans out and delivers: every write of a payment with a reference and one webhook endpoint. */
async function paid(payments: number): Promise<PartitionMeter> {
  const database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => systemClock.nowMs() });
  const meter = new PartitionMeter(TABLE_SHAPES);
  const client = database.clientWith((command, apply) => {
    meter.transaction = command === 'TransactWriteCommand';
    return apply();
  });
  database.listen((changes) => meter.note(changes));
  const pacing = { clock: systemClock, entropy: systemEntropy };
  const store = new DynamoDbStore(client, TABLES, pacing);
  const webhooks = new DynamoDbWebhooks(client, TABLES, pacing);
  const tasks: WebhookTask[] = [];
  const tools = {
    ...pacing,
    store,
    webhooks,
    views: new DynamoDbViews(client, TABLES.views, pacing),
    processor: typicalProcessor(),
    runner: idempotentRunner,
    replays: new ProcessReplayCache(),
    digest: systemDigest,
    secrets: SECRETS,
    tasks: { enqueue: async (more: readonly WebhookTask[]) => void tasks.push(...more) },
    transport: { post: async () => ({ kind: 'answered', status: 200, excerpt: 'x'.repeat(256) }) as const },
    bodies: async () => '{}',
    report: (error: unknown) => {
      throw error;
    },
  };
  const { tenantId, mode } = typicalPayment('hot');
  const was = await webhooks.readBook({ tenantId, mode });
  await webhooks.write({ book: { was, now: { ...was, revision: 1, endpoints: [endpointNamed('hot')] } } });
  meter.units.clear();
  for (let index = 0; index < payments; index += 1) {
    const request = typicalPayment(`hot-${index}`, { reference: `order-${index}` });
    await createPayment(tools, request);
    const chain = await store.listTransitions(request.paymentId, { afterSequence: 0, limit: 10 });
    for (const event of eventsOf(systemDigest, chain)) {
      await projectEvent(tools, event);
      await fanOut(tools, event);
    }
    for (const task of tasks.splice(0)) {
      if (task.kind === 'attempt') expect(await sendWebhook(tools, task.endpointId, task.deliveryId)).toBe('delivered');
    }
  }
  return meter;
}

test('1,000 payments of one tenant, with references and a webhook each, write at most 500 units to any partition', async () => {
  const meter = await paid(PAYMENTS);
  expect(meter.busiest().filter(([, units]) => units > MOST_UNITS)).toEqual([]);
});

test('a payment with a reference costs 13 write units, its event at most 9 in the views, its delivery at most 8', async () => {
  const meter = await paid(1);
  expect(meter.of('Idempotency') + meter.of('Ledger') + meter.of('Registry', 'REF#')).toBe(13);
  expect(meter.of('Views')).toBeLessThanOrEqual(9);
  expect(meter.of('Registry') - meter.of('Registry', 'REF#')).toBeLessThanOrEqual(8);
});
