import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

const client = new DynamoDBClient({});

/** Makes the bundler keep the client. */
export const handler = () => client;
