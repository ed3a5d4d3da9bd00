/** Tests the guarantee "requested payments". */
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { MSKEvent } from 'aws-lambda';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { paymentOfEvent } from '../../lambdas/payments/ids.ts';
import { stackOutput } from '../events/event-listener.ts';
import { ApiClient } from '../support/api-client.ts';
import { CREDENTIALS, localAws, storesOn } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

const aws = localAws();
const access = { endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS };
const sqs = new SQSClient(access);
const api = new ApiClient(aws, aws.apiKey);
const { store } = storesOn(aws.tables);

/** The tenant of all senders on the local AWS. */
const SHOP = { tenantId: tenantId('ten_local'), mode: 'test' } as const;
const request = (event_id: string) => ({
  event_id,
  account_from: 'tok_ok',
  account_to: SHOP.tenantId,
  amount: 1000,
  currency: 'EUR',
  timestamp: new Date().toISOString(),
});
const paymentOf = (eventId: string) => paymentOfEvent(systemDigest, SHOP, eventId);
const settled = (eventId: string) =>
  until(async () => {
    const newest = (await store.readPayment(paymentOf(eventId)))?.newest;
    return newest?.payment.status === 'succeeded' ? newest : undefined;
  });

/** The AWS Lambda developer guide describes the format ("Using Lambda with Amazon MSK", example event). */
const batch = (...values: readonly string[]): MSKEvent => ({
  eventSource: 'aws:kafka',
  eventSourceArn: 'arn:aws:kafka:us-east-1:000000000000:cluster/local/1',
  bootstrapServers: 'b-1.local.kafka.us-east-1.amazonaws.com:9098',
  records: {
    'payments-0': values.map((value, offset) => ({
      topic: 'payments',
      partition: 0,
      offset,
      timestamp: Date.now(),
      timestampType: 'CREATE_TIME',
      key: '',
      value: Buffer.from(value).toString('base64'),
      headers: [],
    })),
  },
});

let functionName: string;
let queueUrl: string;
beforeAll(async () => {
  functionName = await stackOutput('service', 'paymentRequestsFunction');
  queueUrl = await stackOutput('service', 'paymentRequestsQueue');
});

const invoke = (event: MSKEvent) =>
  new LambdaClient(access).send(new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(event) }));

describe('an event that requests a payment, on the deployed stack', () => {
  test('is charged once when delivered twice by the bus, once by the queue of the NATS bridge and twice by a Kafka topic', async () => {
    const eventId = crypto.randomUUID();
    const detail = JSON.stringify(request(eventId));
    const entry = {
      EventBusName: await stackOutput('data', 'eventBus'),
      Source: 'payonce.requests',
      DetailType: 'payment.requested.v1',
      Detail: detail,
    };
    const bus = new EventBridgeClient(access);
    await bus.send(new PutEventsCommand({ Entries: [entry, entry] }));
    const MessageAttributes = { subject: { DataType: 'String', StringValue: 'payments.local' } };
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: detail, MessageAttributes }));
    expect((await settled(eventId)).cause).toMatchObject({ by: 'event', eventId });
    expect((await invoke(batch(detail, detail))).FunctionError).toBeUndefined();
    expect(await api.charges(paymentOf(eventId))).toHaveLength(1);
  });

  test('is charged once when a Kafka batch with a poison record is redelivered in a different order', async () => {
    const ids = [1, 2, 3].map(() => crypto.randomUUID());
    const poison = `poison ${ids[0]}`;
    const values = [poison, ...ids.map((id) => JSON.stringify(request(id)))];
    const answers = [await invoke(batch(...values)), await invoke(batch(...values.toReversed()))];
    expect(answers.map(({ FunctionError }) => FunctionError)).toEqual([undefined, undefined]);
    for (const id of ids) {
      expect((await store.readPayment(paymentOf(id)))?.newest.payment.status).toBe('succeeded');
      expect(await api.charges(paymentOf(id))).toHaveLength(1);
    }
    const parked = await until(async () => {
      const url = await stackOutput('service', 'parkedPaymentRequestsQueue');
      const read = { QueueUrl: url, MaxNumberOfMessages: 10, VisibilityTimeout: 1, MessageAttributeNames: ['All'] };
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand(read));
      return Messages.find(({ Body }) => Body === poison);
    });
    expect(parked.MessageAttributes?.['reason']?.StringValue).toBe('malformed');
    expect(parked.MessageAttributes?.['sender']?.StringValue).toBe('topic:payments');
  });
});
