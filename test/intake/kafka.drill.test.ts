import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { SelfManagedKafkaEvent } from 'aws-lambda';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { paymentOfEvent } from '../../lambdas/payments/ids.ts';
import { stackOutput } from '../events/event-listener.ts';
import { ApiClient } from '../support/api-client.ts';
import { CREDENTIALS, localAws, storesOn } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { Kafka, missingForKafka } from './kafka/kafka-world.ts';

const aws = localAws();
const access = { endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS };
const api = new ApiClient(aws, aws.apiKey);
const { store } = storesOn(aws.tables);
const SHOP = { tenantId: tenantId('ten_local'), mode: 'test' } as const;
const paymentOf = (eventId: string) => paymentOfEvent(systemDigest, SHOP, eventId);

const isProving = whole(true, { slice: false });
const missing = isProving ? missingForKafka() : 'npm run prove';
if (isProving && missing !== undefined)
  console.warn(`Kafka is NOT proven on this machine: ${missing} is missing. The other transports are proven.`);

/** Lambda has no such limit by default. */
const MAX_DELIVERIES = 20;

const kafka = new Kafka();
afterAll(() => kafka.remove());

const request = (event_id: string, changes: object = {}) =>
  JSON.stringify({
    event_id,
    account_from: 'tok_ok',
    account_to: SHOP.tenantId,
    amount: 1000,
    currency: 'EUR',
    timestamp: new Date().toISOString(),
    ...changes,
  });

async function parkedBodies(): Promise<readonly string[]> {
  const QueueUrl = await stackOutput('service', 'parkedPaymentRequestsQueue');
  const read = { QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 1 };
  const { Messages = [] } = await new SQSClient(access).send(new ReceiveMessageCommand(read));
  return Messages.map(({ Body = '' }) => Body);
}

describe('payment requests in a topic of a real Kafka broker', () => {
  (missing === undefined ? test : test.skip)(
    'are charged once each when polled as Lambda does, and a poison record does not stop its partition',
    async () => {
      await kafka.start();
      const ids = Array.from({ length: 8 }, () => crypto.randomUUID());
      const [first = '', second = '', third = '', ...others] = ids;
      const poison = `poison ${first}`;
      await kafka.produce([
        [0, request(first)],
        [0, poison],
        [0],
        [0, request(second)],
        [0, request(first)],
        [1, request(third)],
        [1, request(second)],
        [1, request(first)],
        [0, request(third)],
        ...others.flatMap((id, index) => [[index % 2, request(id)] as const, [(index + 1) % 2, request(id)] as const]),
        [1, request(first, { amount: 999_999 })],
      ]);
      const FunctionName = await stackOutput('service', 'paymentRequestsFunction');
      const lambda = new LambdaClient(access);
      // Lambda redelivers a batch if the function fails, for example because a busy machine exceeds the function's
      // timeout.
      const deliver = async (event: SelfManagedKafkaEvent): Promise<void> => {
        const errors: string[] = [];
        while (errors.length < MAX_DELIVERIES) {
          const answer = await lambda.send(new InvokeCommand({ FunctionName, Payload: JSON.stringify(event) }));
          if (answer.FunctionError === undefined) return;
          errors.push(Buffer.from(answer.Payload ?? []).toString());
        }
        throw new Error(`the function failed on every delivery of the batch: ${errors.join('\n')}`);
      };
      const records = 9 + 2 * others.length + 1;
      // For each partition, the offset after its last committed record.
      const committed: Record<string, number> = {};
      const seen = { deliveries: 0, repeated: 0 };
      const handled = new Set<string>();
      for (let deaths = 0, poller = kafka.poll('payonce', 4); ; ) {
        const event = await poller.next();
        await deliver(event);
        for (const { topic, partition, offset } of Object.values(event.records).flat()) {
          const place = `${topic}-${partition}@${offset}`;
          seen.deliveries += 1;
          if (handled.has(place)) seen.repeated += 1;
          handled.add(place);
        }
        if (deaths < 2) {
          // As if the function's response were lost: the offsets are not committed, and the batch is redelivered.
          deaths += 1;
          await poller.kill();
          poller = kafka.poll('payonce', 4);
          continue;
        }
        for (const { partition, offset } of Object.values(event.records).flat())
          committed[partition] = Math.max(committed[partition] ?? 0, offset + 1);
        poller.commit();
        if (Object.values(committed).reduce((sum, each) => sum + each, 0) === records) {
          await poller.kill();
          break;
        }
      }
      expect(seen.repeated).toBeGreaterThan(0);
      for (const id of ids) {
        await until(async () => {
          const newest = (await store.readPayment(paymentOf(id)))?.newest;
          return newest?.payment.status === 'succeeded' ? true : undefined;
        });
        expect(await api.charges(paymentOf(id))).toMatchObject([{ amount: 1000 }]);
      }
      const found = new Set<string>();
      await until(async () => {
        for (const body of await parkedBodies()) found.add(body);
        const isChanged = [...found].some((body) => body.includes(first) && body.includes('999999'));
        return found.has(poison) && isChanged ? true : undefined;
      });
    },
  );
});
