import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';

/** Holds whoever comes until all who are expected have come. */
export class MeetingPoint {
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

/** DynamoDB as one worker sees it, whose first call is answered only when all have made theirs: so nobody is too late for a race. */
export function clientMeetingAt(point: MeetingPoint): DynamoDBClient {
  const client = new DynamoDBClient({
    endpoint: localAws().awsEndpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
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
