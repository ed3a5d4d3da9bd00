import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { type FaultInjection, NO_FAILURES, type TroubledCalls } from './books.ts';
import { type DynamoDbAccess, read } from './dynamodb-requests.ts';
import { expiry, failuresItem, rowKey, sendsItem } from './dynamodb-rows.ts';

export function troubleBooks(access: DynamoDbAccess): FaultInjection {
  const { client, tableName } = access;
  const switchedFailures = async (calls: TroubledCalls) =>
    (await read(access, rowKey.failures(calls), failuresItem)) ?? NO_FAILURES;
  return {
    countSend: async (key, nowMs) => {
      const { Attributes } = await client.send(
        new UpdateCommand({
          TableName: tableName,
          Key: rowKey.sends(key),
          UpdateExpression: 'SET expiresAt = :expiry ADD sends :one',
          ExpressionAttributeValues: { ':expiry': expiry(nowMs), ':one': 1 },
          ReturnValues: 'UPDATED_NEW',
        }),
      );
      return sendsItem.parse(Attributes).sends;
    },
    switchFailures: async (calls, { count, source }) => {
      await client.send(new PutCommand({ TableName: tableName, Item: { ...rowKey.failures(calls), count, source } }));
    },
    switchedFailures,
    takeSwitchedFailure: async (calls) => {
      // Read first: usually no failures are switched on, and the read avoids a write to an item that all requests
      // share.
      if ((await switchedFailures(calls)).count === 0) {
        return undefined;
      }
      try {
        const { Attributes } = await client.send(
          new UpdateCommand({
            TableName: tableName,
            Key: rowKey.failures(calls),
            UpdateExpression: 'ADD #count :less',
            // A rival may have used up the last failure since the read.
            ConditionExpression: '#count > :none',
            ExpressionAttributeNames: { '#count': 'count' },
            ExpressionAttributeValues: { ':less': -1, ':none': 0 },
            ReturnValues: 'ALL_NEW',
          }),
        );
        return failuresItem.parse(Attributes).source;
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) {
          return undefined;
        }
        throw error;
      }
    },
  };
}
