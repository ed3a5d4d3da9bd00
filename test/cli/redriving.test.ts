import { type Message, SQSClient } from '@aws-sdk/client-sqs';
import { expect, test } from '@jest/globals';
import { ExitCode } from '../../cli/failure.ts';
import { ParkedAgain, redrive } from '../../cli/redriving.ts';

/**
 * Short polling queries only some of the servers (in this simulation, those without messages); long polling queries all
 * servers.
 */
function spreadQueue(deleted: unknown[] = []): SQSClient {
  const left = ['a', 'b'];
  const answers: Readonly<Record<string, (input: Readonly<Record<string, unknown>>) => unknown>> = {
    GetQueueAttributesCommand: () => ({ Attributes: { ApproximateNumberOfMessages: '2' } }),
    ReceiveMessageCommand: ({ WaitTimeSeconds }) => {
      const found = Number(WaitTimeSeconds ?? 0) > 0 ? left.splice(0, 1) : [];
      return { Messages: found.map((Body) => ({ Body, ReceiptHandle: Body })) };
    },
    DeleteMessageCommand: ({ ReceiptHandle }) => {
      deleted.push(ReceiptHandle);
      return {};
    },
  };
  const client = new SQSClient({ region: 'eu-west-1' });
  client.middlewareStack.add(
    (_next, { commandName = '' }) =>
      async ({ input }) => ({
        response: {},
        output: { $metadata: {}, ...(answers[commandName]?.(input as never) as object) } as never,
      }),
    { step: 'initialize' },
  );
  return client;
}

test('a redrive reads from all servers of a queue before it reports the queue as empty', async () => {
  const worked: unknown[] = [];
  const redriven = await redrive(
    spreadQueue(),
    'https://sqs.invalid/q',
    async ({ Body }) => void worked.push(Body),
    () => undefined,
  );
  expect(redriven).toEqual({ done: 2, failed: 0 });
  expect(worked).toEqual(['a', 'b']);
});

test('a redriven message is removed and counted as failed if its work was parked again as a new message', async () => {
  const deleted: unknown[] = [];
  const reported: unknown[] = [];
  const again = new ParkedAgain(ExitCode.incomplete, 'the work was parked a second time.');
  const work = async ({ Body }: Message) => {
    if (Body === 'a') throw again;
  };
  const redriven = await redrive(spreadQueue(deleted), 'https://sqs.invalid/q', work, (error) => {
    reported.push(error);
  });
  expect(redriven).toEqual({ done: 1, failed: 1 });
  expect([deleted, reported]).toEqual([['a', 'b'], [again]]);
});
