import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { DynamoDbWebhooks } from '../../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { deliveryRow } from '../../lambdas/webhooks/store/webhook-items.ts';
import { messageOf } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';

/** A query returns at most 1 MB, whatever its limit. A page has up to 100 deliveries, with bodies of up to 17 kB. */
test('a page of deliveries has the requested length, however many queries it takes', async () => {
  const endpoint = endpointNamed('large');
  const deliveries = ['a', 'b', 'c', 'd', 'e'].map((name) =>
    newDelivery(systemDigest, OWNER, endpoint, messageOf(eventNamed(name)), 0),
  );
  const parts = [deliveries.slice(0, 2), deliveries.slice(2, 2), deliveries.slice(2, 4), deliveries.slice(4)];
  const limits: unknown[] = [];
  const client = new DynamoDBClient({ region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
  client.middlewareStack.add(
    () => async (args) => {
      limits.push((args.input as { Limit?: number }).Limit);
      const part = parts.shift() ?? [];
      const Items = part.map((delivery) => deliveryRow(delivery));
      const more = parts.length === 0 ? {} : { LastEvaluatedKey: { pk: 'a', sk: `${parts.length}` } };
      return { output: { $metadata: {}, Items, ...more } as never, response: {} };
    },
    { step: 'initialize', priority: 'low' },
  );
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  const tables = { idempotency: 'i', registry: 'r' };
  const store = new DynamoDbWebhooks(DynamoDBDocumentClient.from(client), tables, pacing);
  expect(await store.listDeliveries(endpoint.id, { limit: 4 })).toEqual(deliveries.slice(0, 4));
  expect(limits).toEqual([4, 2, 2]);
});
