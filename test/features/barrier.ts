import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CREDENTIALS, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';

/** Holds each arrival until the expected number have arrived. */
export class Barrier {
  readonly #all = Promise.withResolvers<void>();
  #missing: number;

  constructor(expected: number) {
    this.#missing = expected;
  }

  async arrive(): Promise<void> {
    this.#missing -= 1;
    if (this.#missing === 0) this.#all.resolve();
    await this.#all.promise;
  }
}

/**
 * Returns a worker's DynamoDB client. It holds the response to its first call until the first calls of all workers have
 * completed, so that all workers race.
 */
export function clientWithBarrier(point: Barrier): DynamoDBClient {
  const client = new DynamoDBClient({
    endpoint: emulatedAws().awsEndpoint,
    region: 'us-east-1',
    credentials: CREDENTIALS,
    requestHandler: dynamoDbClient().config.requestHandler,
    maxAttempts: 1,
  });
  let met = false;
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } finally {
        if (!met) {
          met = true;
          await point.arrive();
        }
      }
    },
    { step: 'initialize', priority: 'high' },
  );
  return client;
}
