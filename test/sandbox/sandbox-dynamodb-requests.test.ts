import { DynamoDBClient, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type DynamoDbAccess, getAll, transact } from '../../sandbox/dynamodb-requests.ts';

const PUT = { Put: { TableName: 'books', Item: { pk: 'a', sk: 'b' } } };

/** No emulator produces these cases. */
describe('in the sandbox books on a busy DynamoDB,', () => {
  let inputs: unknown[];
  let waits: number[];
  let answers: (() => object)[];
  let access: DynamoDbAccess;

  beforeEach(() => {
    inputs = [];
    waits = [];
    answers = [];
    const client = new DynamoDBClient({ region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
    client.middlewareStack.add(
      () => async (args) => {
        inputs.push(args.input);
        const answer = answers.shift();
        if (answer === undefined) throw new Error('the script has no more responses');
        return { output: { $metadata: {}, ...answer() }, response: {} };
      },
      { step: 'initialize', priority: 'low' },
    );
    access = {
      client: DynamoDBDocumentClient.from(client),
      tableName: 'books',
      wait: async (milliseconds) => {
        waits.push(milliseconds);
      },
    };
  });

  const canceled =
    (...codes: string[]) =>
    (): never => {
      throw new TransactionCanceledException({
        message: 'canceled',
        $metadata: {},
        CancellationReasons: codes.map((Code) => ({ Code })),
      });
    };

  test('a conflict with another transaction is retried, with growing waits', async () => {
    answers = [canceled('None', 'TransactionConflict'), canceled('ThrottlingError', 'None'), () => ({})];
    expect(await transact(access, [PUT])).toBe('applied');
    expect(waits).toEqual([40, 80]);
  });

  test('a persistent conflict causes an error after five attempts', async () => {
    answers = Array.from({ length: 5 }, () => canceled('TransactionConflict'));
    await expect(transact(access, [PUT])).rejects.toBeInstanceOf(TransactionCanceledException);
    expect(inputs).toHaveLength(5);
  });

  test('a failed condition is returned as `refused`, and is not retried', async () => {
    answers = [canceled('TransactionConflict', 'ConditionalCheckFailed')];
    expect(await transact(access, [PUT])).toBe('refused');
    expect(waits).toEqual([]);
  });

  test('an invalid transaction causes an error without a retry', async () => {
    answers = [canceled('ValidationError')];
    await expect(transact(access, [PUT])).rejects.toBeInstanceOf(TransactionCanceledException);
  });

  test('keys that DynamoDB left unprocessed are read again', async () => {
    const [one, other] = [
      { pk: 'a', sk: '1' },
      { pk: 'a', sk: '2' },
    ];
    answers = [
      () => ({ Responses: { books: [one] }, UnprocessedKeys: { books: { Keys: [other], ConsistentRead: true } } }),
      () => ({ Responses: { books: [other] }, UnprocessedKeys: {} }),
    ];
    expect(await getAll(access, [one, other])).toEqual([one, other]);
    expect(inputs[1]).toMatchObject({ RequestItems: { books: { Keys: [other], ConsistentRead: true } } });
  });

  test('keys that stay unprocessed cause an error instead of a shorter list', async () => {
    const key = { pk: 'a', sk: '1' };
    answers = Array.from({ length: 5 }, () => () => ({ UnprocessedKeys: { books: { Keys: [key] } } }));
    await expect(getAll(access, [key])).rejects.toThrow('unprocessed');
  });
});
