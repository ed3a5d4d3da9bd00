import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

const client = new DynamoDBClient({});

/** Uses the client, so the bundler keeps it. */
export const handler = () => client;
