import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { advance } from './advancing.ts';
import { deliver } from './delivering.ts';
import { type Task, task } from './tasks.ts';
import type { SandboxWorld } from './world.ts';

/**
 * A slow receiver must not delay the other tasks. A task that cannot be parsed is redelivered until the queue moves it
 * to the dead-letter queue.
 */
export async function runTasks(world: SandboxWorld, { Records }: SQSEvent): Promise<SQSBatchResponse> {
  const failed = await Promise.all(
    Records.map(async ({ messageId, body }) => {
      try {
        await run(world, task.parse(JSON.parse(body)));
        return [];
      } catch (error) {
        console.error(error);
        return [{ itemIdentifier: messageId }];
      }
    }),
  );
  return { batchItemFailures: failed.flat() };
}

function run(world: SandboxWorld, todo: Task): Promise<void> {
  switch (todo.kind) {
    case 'deliver':
      return deliver(world, todo);
    case 'advance':
      return advance(world, todo);
  }
}
