import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Tasks } from './world.ts';

export function createSqsTasks(client: SQSClient, queueUrl: string): Tasks {
  return {
    enqueue: async (task, delaySeconds) => {
      await client.send(
        new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: JSON.stringify(task), DelaySeconds: delaySeconds }),
      );
    },
  };
}
