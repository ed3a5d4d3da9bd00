import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** One call gets this long: a healthy one takes some milliseconds, and a request has seconds for several. Milliseconds. */
const REQUEST_TIMEOUT_MS = 2_000;
const CONNECTION_TIMEOUT_MS = 1_000;

/** A client that does not retry by itself: retries belong to one layer, which knows what a repeated write means. */
export function documentClient(client: DynamoDBClient = plainClient()): DynamoDBDocumentClient {
  return DynamoDBDocumentClient.from(client);
}

function plainClient(): DynamoDBClient {
  return new DynamoDBClient({
    maxAttempts: 1,
    requestHandler: {
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      connectionTimeout: CONNECTION_TIMEOUT_MS,
    },
  });
}
