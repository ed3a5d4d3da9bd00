import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CREDENTIALS, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';

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
 * All workers race, because the response to the first call is held until the first calls of all workers have completed.
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
