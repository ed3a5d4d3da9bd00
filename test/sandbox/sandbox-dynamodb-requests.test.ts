import { DynamoDBClient, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type DynamoDbAccess, getAll, transact } from '../../sandbox/dynamodb-requests.ts';

const PUT = { Put: { TableName: 'books', Item: { pk: 'a', sk: 'b' } } };

/** What no emulator shows: the SDK's client answers from a script instead of the network. */
describe('the sandbox books under a busy DynamoDB', () => {
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
        if (answer === undefined) throw new Error('one call more than the script has answers');
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

  test('a conflict with a rival transaction is tried again, later each time', async () => {
    answers = [canceled('None', 'TransactionConflict'), canceled('ThrottlingError', 'None'), () => ({})];
    expect(await transact(access, [PUT])).toBe('applied');
    expect(waits).toEqual([40, 80]);
  });

  test('a conflict that does not end is thrown after five attempts', async () => {
    answers = Array.from({ length: 5 }, () => canceled('TransactionConflict'));
    await expect(transact(access, [PUT])).rejects.toBeInstanceOf(TransactionCanceledException);
    expect(inputs).toHaveLength(5);
  });

  test('a condition that does not hold is an outcome, and is not tried again', async () => {
    answers = [canceled('TransactionConflict', 'ConditionalCheckFailed')];
    expect(await transact(access, [PUT])).toBe('refused');
    expect(waits).toEqual([]);
  });

  test('a transaction that DynamoDB finds wrong is thrown at once', async () => {
    answers = [canceled('ValidationError')];
    await expect(transact(access, [PUT])).rejects.toBeInstanceOf(TransactionCanceledException);
  });

  test('keys that DynamoDB left unread are asked for again', async () => {
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

  test('keys that stay unread are an error, never a short list', async () => {
    const key = { pk: 'a', sk: '1' };
    answers = Array.from({ length: 5 }, () => () => ({ UnprocessedKeys: { books: { Keys: [key] } } }));
    await expect(getAll(access, [key])).rejects.toThrow('unprocessed');
  });
});
