import type { GetQueueUrlCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect, test } from '@jest/globals';
import { SqsParking } from '../../lambdas/events/store/sqs-parking.ts';
import { configuredTasks } from '../../lambdas/webhooks/transport/webhook-clients.ts';

test('each task is sent to the queue of its kind, with its message group', async () => {
  const sent: unknown[] = [];
  const sqs = { send: async ({ input }: SendMessageCommand) => void sent.push(input) } as unknown as SQSClient;
  const tasks = configuredTasks({ sqs: () => sqs }, { tasksQueueUrl: 'tasks', lanesQueueUrl: 'lanes' });
  const attempt = { kind: 'attempt', endpointId: 'we_a', deliveryId: 'dlv_a' } as const;
  const lane = { kind: 'lane', endpointId: 'we_b' } as const;
  await tasks.enqueue(
    [
      { task: attempt, group: 'ten_a#test' },
      { task: lane, group: 'ten_b#live' },
    ],
    3,
  );
  expect(sent).toEqual([
    { QueueUrl: 'tasks', MessageBody: JSON.stringify(attempt), MessageGroupId: 'ten_a#test', DelaySeconds: 3 },
    { QueueUrl: 'lanes', MessageBody: JSON.stringify(lane), MessageGroupId: 'ten_b#live', DelaySeconds: 3 },
  ]);
});

test('a failed message is sent again with its message group', async () => {
  const sent: unknown[] = [];
  const client = {
    send: async ({ input }: SendMessageCommand | GetQueueUrlCommand) => {
      sent.push(input);
      return { QueueUrl: 'tasks' };
    },
  } as unknown as SQSClient;
  const message = { body: 'failed once', eventSourceARN: 'arn:aws:sqs:eu-west-1:1:tasks', receiptHandle: 'r' };
  const parking = new SqsParking(client, 'dead');
  await parking.requeue({ ...message, attributes: { MessageGroupId: 'ten_a#test' } }, 1);
  expect(sent[1]).toMatchObject({ QueueUrl: 'tasks', MessageBody: 'failed once', MessageGroupId: 'ten_a#test' });
});
