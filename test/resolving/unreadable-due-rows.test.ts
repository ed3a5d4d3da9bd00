import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbQueues } from '../../lambdas/operators/store/dynamodb-queues.ts';
import { DynamoDbEffects } from '../../lambdas/payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { DynamoDbWebhooks } from '../../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { ALL_DUE } from '../support/due.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const TABLES = { idempotency: 'idempotency', ledger: 'ledger', registry: 'registry' };
const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };

function holding(partition: string, items: readonly Record<string, unknown>[]) {
  const client = documentClient();
  const send = async (command: unknown) => {
    const values = command instanceof QueryCommand ? command.input.ExpressionAttributeValues : undefined;
    const asked: unknown = values?.[':pk'] ?? values?.[':due'] ?? values?.[':part'];
    return { Items: asked === partition ? items.map((item) => ({ pk: partition, sk: '1', ...item })) : [] };
  };
  return Object.assign(client, { send });
}

test('an unreadable orphan is reported, and does not block the other orphans', async () => {
  const event = {
    processorName: 'sandbox',
    mode: 'test' as const,
    eventId: 'evt_1',
    type: 'charge.succeeded',
    chargeId: 'ch_1',
  };
  const orphan = { operationId: 'op_1', event, reason: 'payment_unknown', receivedAtMs: 1 };
  const client = holding('QUEUE_ORPHAN#0', [{ operationId: 'op_0', event: 'in an unknown format' }, orphan]);
  const reported: unknown[] = [];
  const store = new DynamoDbStore(client, TABLES, pacing);
  const orphanStore = new DynamoDbEffects(client, TABLES, pacing, store, (error) => reported.push(error));
  expect(await orphanStore.waiting('own', ALL_DUE)).toEqual([orphan]);
  expect(reported).toMatchObject([{ code: 'row_unreadable' }]);
});

test('an unreadable due webhook is reported, and does not block the other webhooks', async () => {
  const due = { task: { kind: 'replay', replayId: 'whr_1' }, sweepAtMs: 1 };
  const unreadable = { pk: 'OF_A_FORM_TO_COME#1', sweepAtMs: 1 };
  const client = holding('0', [unreadable, { pk: 'WEBHOOK_REPLAY#whr_1', sk: 'REPLAY', sweepAtMs: 1 }]);
  const reported: unknown[] = [];
  const webhooks = new DynamoDbWebhooks(client, TABLES, pacing, (error) => reported.push(error));
  expect(await webhooks.due(Date.UTC(2026, 2, 1), 100)).toEqual([due]);
  expect(reported).toMatchObject([{ code: 'row_unreadable' }]);
});

test('an unreadable queue entry is listed as waiting for an operator', async () => {
  const inquiry = { operationId: 'pay_1', paymentId: 'pay_1', claimedAtMs: 1 };
  const client = holding('INQUIRY#3', [{ operationId: 'in an unknown format' }, inquiry]);
  const entries = await new DynamoDbQueues(client, TABLES, pacing).page('inquiries', { limit: 9 });
  expect(entries.map(({ entry }) => entry)).toEqual([
    { needsOperator: true },
    { about: 'pay_1', part: 'pay_1', sinceMs: 1, needsOperator: false },
  ]);
});

test.each([
  ['returns', 'RETURN#3', { paymentId: 'pay_1', chargeId: 'ch_1', by: 'refund', foundAtMs: 1 }],
  ['holds', 'HOLD#3', { paymentId: 'pay_1', authorizedAtMs: 1 }],
] as const)(
  'an entry of the queue %s that is marked as undecidable is listed as waiting for an operator',
  async (queue, partition, row) => {
    const client = holding(partition, [{ ...row, undecidable: true }, row]);
    const entries = await new DynamoDbQueues(client, TABLES, pacing).page(queue, { limit: 9 });
    expect(entries.map(({ entry }) => entry.needsOperator)).toEqual([true, false]);
  },
);
