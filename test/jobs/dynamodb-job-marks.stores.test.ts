import { beforeAll } from '@jest/globals';
import { DynamoDbJobMarks } from '../../lambdas/jobs/store/dynamodb-job-marks.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeJobMarks } from './job-marks-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('marks');
});

describeJobMarks('dynamodb', async () => {
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return new DynamoDbJobMarks(documentClient(dynamoDbClient()), tables.registry, pacing);
});
