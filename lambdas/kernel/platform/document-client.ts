import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** Time limit of one call. A normal call takes some milliseconds, and a request has seconds for several. Milliseconds. */
const REQUEST_TIMEOUT_MS = 2_000;
const CONNECTION_TIMEOUT_MS = 1_000;

/** A client that does not retry. Retries are made in one layer, which knows the effect of a repeated write. */
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
