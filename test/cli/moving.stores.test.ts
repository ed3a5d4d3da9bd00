import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { expect, test } from '@jest/globals';
import { moveBack, type RedrivePair, redrivePairs } from '../../cli/moving.ts';
import { CREDENTIALS, emulatedAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

const { awsEndpoint: endpoint, region } = emulatedAws();
const sqs = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
let made = 0;

async function queue(attributes: Record<string, string> = {}): Promise<{ readonly url: string; readonly arn: string }> {
  made += 1;
  const QueueName = `moving-${process.pid}-${made}`;
  const { QueueUrl: url = '' } = await sqs.send(new CreateQueueCommand({ QueueName, Attributes: attributes }));
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
  );
  return { url, arn: Attributes['QueueArn'] ?? '' };
}

async function received(QueueUrl: string): Promise<readonly string[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }),
  );
  return Messages.map(({ Body = '' }) => Body).toSorted((left, right) => left.localeCompare(right));
}

async function pairWith(
  ...bodies: readonly string[]
): Promise<{ readonly pair: RedrivePair; readonly workUrl: string }> {
  const dead = await queue();
  const work = await queue({ RedrivePolicy: JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 3 }) });
  for (const MessageBody of bodies) await sqs.send(new SendMessageCommand({ QueueUrl: dead.url, MessageBody }));
  const [pair] = await redrivePairs(sqs, [work.url, dead.url]);
  expect(pair).toEqual({
    name: dead.arn.split(':').at(-1),
    deadLettersArn: dead.arn,
    queueArn: work.arn,
    waiting: bodies.length,
  });
  return { pair: pair as RedrivePair, workUrl: work.url };
}

const wait = () => Promise.resolve();

test('dead letters move back to their queue, even if a consumer parked them, and the progress is reported', async () => {
  const { pair, workUrl } = await pairWith('one', 'two', 'three');
  const progress: unknown[] = [];
  expect(await moveBack(sqs, pair, { wait, report: (reported) => progress.push(reported) })).toEqual({
    moved: 3,
    failure: undefined,
  });
  expect(progress.at(-1)).toEqual({ moved: 3, toMove: 3 });
  expect(await received(workUrl)).toEqual(['one', 'three', 'two']);
  expect(await moveBack(sqs, pair, { wait, report: () => undefined })).toEqual({ moved: 0, failure: undefined });
});

test('a queue that is not a dead-letter queue belongs to no redrive pair, and SQS refuses to move its messages', async () => {
  const work = await queue();
  expect(await redrivePairs(sqs, [work.url])).toEqual([]);
  await expect(sqs.send(new StartMessageMoveTaskCommand({ SourceArn: work.arn }))).rejects.toThrow(
    'Source queue must be configured as a Dead Letter Queue',
  );
});

test('without a destination, SQS moves only the messages that SQS itself dead-lettered', async () => {
  const { pair, workUrl } = await pairWith('parked by a consumer');
  const SourceArn = pair.deadLettersArn;
  await sqs.send(new StartMessageMoveTaskCommand({ SourceArn }));
  const failed = await until(async () => {
    const { Results: [task] = [] } = await sqs.send(new ListMessageMoveTasksCommand({ SourceArn }));
    return task?.Status === 'RUNNING' ? undefined : task;
  });
  expect(failed).toMatchObject({ Status: 'FAILED', FailureReason: 'CouldNotDetermineMessageSource' });
  expect(await received(workUrl)).toEqual([]);
});
