import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/adapters/dynamodb/document-client.ts';
import { DynamoDbJobMarks } from '../../lambdas/adapters/dynamodb/dynamodb-job-marks.ts';
import { describeJobMarks } from '../contract-suites/job-marks-suite.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('marks');
});

describeJobMarks('dynamodb', async () => {
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return new DynamoDbJobMarks(documentClient(dynamoDbClient()), tables.registry, pacing);
});
