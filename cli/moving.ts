import {
  CancelMessageMoveTaskCommand,
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  type ListMessageMoveTasksResultEntry,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';

export interface RedrivePair {
  readonly name: string;
  readonly deadLettersArn: string;
  readonly queueArn: string;
  /** Approximate number of messages in the dead-letter queue. */
  readonly waiting: number;
}

export interface Moved {
  readonly moved: number;
  /** Reason why the task failed; undefined if it completed or was canceled. */
  readonly failure: string | undefined;
}

const redrivePolicy = z.object({ deadLetterTargetArn: z.string() });

/**
 * If two work queues share a dead-letter queue, pairs only the first one with it: the same consumer handles the
 * messages of both work queues.
 */
export async function redrivePairs(client: SQSClient, queueUrls: readonly string[]): Promise<readonly RedrivePair[]> {
  const queues = await Promise.all(
    queueUrls.map(async (QueueUrl) => {
      const { Attributes = {} } = await client.send(
        new GetQueueAttributesCommand({
          QueueUrl,
          AttributeNames: ['QueueArn', 'RedrivePolicy', 'ApproximateNumberOfMessages'],
        }),
      );
      return Attributes;
    }),
  );
  const paired = new Set<string>();
  return queues.flatMap(({ QueueArn: queueArn = '', RedrivePolicy }) => {
    if (RedrivePolicy === undefined) return [];
    const { deadLetterTargetArn: deadLettersArn } = redrivePolicy.parse(JSON.parse(RedrivePolicy));
    if (paired.has(deadLettersArn)) return [];
    paired.add(deadLettersArn);
    const deadLetters = queues.find(({ QueueArn }) => QueueArn === deadLettersArn);
    if (deadLetters === undefined) return [];
    const name = deadLettersArn.slice(deadLettersArn.lastIndexOf(':') + 1);
    return [{ name, deadLettersArn, queueArn, waiting: Number(deadLetters['ApproximateNumberOfMessages'] ?? 0) }];
  });
}

/**
 * A message that fails again returns to the dead-letter queue, from which the same task could move it again and again.
 * Therefore, the task is canceled after it has moved twice as many messages as SQS counted initially.
 *
 * @param wait called between two polls of the task
 */
export async function moveBack(
  client: SQSClient,
  { deadLettersArn: SourceArn, queueArn: DestinationArn }: RedrivePair,
  { wait, report }: { readonly wait: () => Promise<void>; readonly report: (task: Progress) => void },
): Promise<Moved> {
  // The destination is explicit, because SQS does not know the source queue of messages that consumers parked themselves.
  const { TaskHandle } = await client.send(new StartMessageMoveTaskCommand({ SourceArn, DestinationArn }));
  for (let isCanceled = false; ; await wait()) {
    const { Results: [task] = [] } = await client.send(new ListMessageMoveTasksCommand({ SourceArn, MaxResults: 1 }));
    const progress = progressOf(task);
    report(progress);
    const { moved, toMove } = progress;
    if (task?.Status === 'COMPLETED' || task?.Status === 'CANCELLED') return { moved, failure: undefined };
    if (task?.Status !== 'RUNNING' && task?.Status !== 'CANCELLING')
      return { moved, failure: task?.FailureReason ?? `the task is ${task?.Status ?? 'gone'}` };
    if (isCanceled || toMove === 0 || moved < 2 * toMove) continue;
    await client.send(new CancelMessageMoveTaskCommand({ TaskHandle }));
    isCanceled = true;
  }
}

interface Progress {
  readonly moved: number;
  /** Number of messages to move; 0 until SQS has counted them. */
  readonly toMove: number;
}

function progressOf(task: ListMessageMoveTasksResultEntry | undefined): Progress {
  return {
    moved: task?.ApproximateNumberOfMessagesMoved ?? 0,
    toMove: task?.ApproximateNumberOfMessagesToMove ?? 0,
  };
}
