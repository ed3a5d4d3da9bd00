import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SqsParking } from '../../lambdas/events/store/sqs-parking.ts';
import { CREDENTIALS, emulatedAws } from '../support/local-aws.ts';

const { awsEndpoint: endpoint, region } = emulatedAws();
const client = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
let QueueUrl: string;
let eventSourceARN: string;
beforeAll(async () => {
  ({ QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName: `again-${process.pid}` })));
  const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }));
  eventSourceARN = Attributes?.['QueueArn'] ?? '';
});
afterAll(async () => {
  await client.send(new DeleteQueueCommand({ QueueUrl }));
  client.destroy();
});

const counts = async (): Promise<Record<string, string> | undefined> => {
  const AttributeNames = ['ApproximateNumberOfMessagesDelayed', 'ApproximateNumberOfMessagesNotVisible'] as const;
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...AttributeNames] }),
  );
  return Attributes;
};

test('requeueing resends a message with a delay to its queue, given only the ARN of the queue; acknowledging deletes the original', async () => {
  await client.send(new SendMessageCommand({ QueueUrl, MessageBody: 'failed once' }));
  const { Messages: [message] = [] } = await client.send(
    new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5, VisibilityTimeout: 600 }),
  );
  const received = { body: 'failed once', eventSourceARN, receiptHandle: message?.ReceiptHandle ?? '' };
  const parking = new SqsParking(client, 'https://sqs.example/dead');
  await parking.requeue(received, 1);
  const one = { ApproximateNumberOfMessagesDelayed: '1' };
  expect(await counts()).toEqual({ ...one, ApproximateNumberOfMessagesNotVisible: '1' });
  await parking.acknowledge(received);
  expect(await counts()).toEqual({ ...one, ApproximateNumberOfMessagesNotVisible: '0' });
});
