import { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, test } from '@jest/globals';
import { parkedWork, redrive } from '../../cli/redriving.ts';

describe('a parked record', () => {
  test('is given to the relay again if it is complete', () => {
    const record = { eventName: 'INSERT', dynamodb: { SequenceNumber: '1' } };
    expect(parkedWork(JSON.stringify(record))).toEqual({ kind: 'record', record });
  });

  /** As in the AWS Lambda developer guide, "Retain discarded records for a DynamoDB event source". */
  test('that is only a position in the Stream is published again from the Ledger, with ten minutes around it for clock skew', () => {
    const pointer = {
      requestContext: { condition: 'RetryAttemptsExhausted', approximateInvokeCount: 21 },
      version: '1.0',
      DDBStreamBatchInfo: {
        shardId: 'shardId-00000001573689847184-864758bb',
        startSequenceNumber: '800000000003126276362',
        endSequenceNumber: '800000000003126276363',
        approximateArrivalOfFirstRecord: '2026-03-01T12:05:00Z',
        approximateArrivalOfLastRecord: '2026-03-01T12:07:00Z',
        batchSize: 2,
      },
    };
    expect(parkedWork(JSON.stringify(pointer))).toEqual({
      kind: 'range',
      sinceMs: Date.UTC(2026, 2, 1, 11, 55),
      untilMs: Date.UTC(2026, 2, 1, 12, 17),
    });
  });
});

/** SQS with two messages. Short polling asks only some of the servers, here those without a message; long polling asks all. */
function spreadQueue(): SQSClient {
  const left = ['a', 'b'];
  const answers: Readonly<Record<string, (input: Readonly<Record<string, unknown>>) => unknown>> = {
    GetQueueAttributesCommand: () => ({ Attributes: { ApproximateNumberOfMessages: '2' } }),
    ReceiveMessageCommand: ({ WaitTimeSeconds }) => {
      const found = Number(WaitTimeSeconds ?? 0) > 0 ? left.splice(0, 1) : [];
      return { Messages: found.map((Body) => ({ Body, ReceiptHandle: Body })) };
    },
    DeleteMessageCommand: () => ({}),
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
