import { CreateQueueCommand, DeleteQueueCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, expect, test } from '@jest/globals';
import { SqsDeadLetterStore } from '../../lambdas/outbound/store/sqs-dead-letter-store.ts';
import { CREDENTIALS, emulatedAws } from '../support/local-aws.ts';
import { describeDeadLetterStore } from './dead-letter-store-suite.ts';

const { awsEndpoint: endpoint, region } = emulatedAws();
const client = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
const queues: string[] = [];

async function emptyQueue(): Promise<string> {
  const QueueName = `letters-${process.pid}-${queues.length}-${crypto.randomUUID().slice(0, 8)}`;
  const { QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName }));
  queues.push(QueueUrl);
  return QueueUrl;
}

afterAll(async () => {
  for (const QueueUrl of queues) await client.send(new DeleteQueueCommand({ QueueUrl }));
});

describeDeadLetterStore('SQS', async () => {
  const QueueUrl = await emptyQueue();
  let bodies = ['{"version":2}', 'not JSON'];
  return {
    box: new SqsDeadLetterStore(client, QueueUrl, QueueUrl),
    putUnreadable: async () => {
      const [MessageBody = '', ...rest] = bodies;
      bodies = rest;
      await client.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    },
  };
});

test('a read from an unavailable queue fails with a retryable fault', async () => {
  const nowhere = `${endpoint}/000000000000/no-such-queue`;
  const box = new SqsDeadLetterStore(client, nowhere, nowhere);
  await expect(box.take(1)).rejects.toMatchObject({ name: 'RetryableError', code: 'dead_letters_unavailable' });
});
