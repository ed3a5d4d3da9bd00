import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/adapters/dynamodb/document-client.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/adapters/dynamodb/dynamodb-consumer-records.ts';
import type { Clock } from '../../lambdas/app/ports/world.ts';
import { type Consume, ConsumerWorld, deliver, inTables, outsideOf, paidEvent } from '../support/consumer-world.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { type Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { clientOf } from '../support/faulty-client.ts';
import { createTables, dynamoDbClient, localAws } from '../support/local-aws.ts';

const STILL: Clock = { nowMs: () => 0, sleep: async () => undefined };
const pacing = { clock: STILL, entropy: countingEntropy() };

let tables: Awaited<ReturnType<typeof createTables>>;
let made = 0;
beforeAll(async () => {
  tables = await createTables('consumer-histories');
});

/** As one process sees DynamoDB: every call of the SDK can be struck. */
function struckRecords(actor: Actor): DynamoDbConsumerRecords {
  const { awsEndpoint: endpoint } = localAws();
  const { requestHandler } = dynamoDbClient().config;
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = clientOf(actor, { endpoint, region: 'us-east-1', credentials, requestHandler });
  return new DynamoDbConsumerRecords(documentClient(client), tables, pacing);
}

async function rowsOf(eventId: string): Promise<number> {
  const { Count = 0 } = await documentClient(dynamoDbClient()).send(
    new QueryCommand({
      TableName: tables.views,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': `ENTRY#${eventId}` },
      ConsistentRead: true,
    }),
  );
  return Count;
}

async function runHistory(how: Consume, faults: readonly PlannedFault[]): Promise<HistoryRun> {
  made += 1;
  const event = paidEvent(`consumer-${made}`);
  const plan = new FaultPlan(faults);
  const violations: string[] = [];
  const world = new ConsumerWorld({ recordsFor: struckRecords, rowsOf });
  let acknowledged = false;
  for (const name of ['first', 'redelivery', 'third', 'after all']) {
    if (name === 'third') plan.active = false;
    acknowledged = (await deliver(how, name, plan, event, world)).acknowledged || acknowledged;
    const { rows, calls } = await world.effects(event);
    if (rows + calls > 1) violations.push(`I5: ${rows + calls} effects`);
    if (acknowledged && rows + calls === 0) violations.push('I5: acknowledged without effect');
  }
  if (!acknowledged) violations.push('it is never taken in');
  return { calls: plan.calls, violations };
}

describe.each([
  ['in our tables', inTables],
  ['outside', outsideOf],
] as const)('an event and its redeliveries on the DynamoDB API have one effect %s', (_where, how) => {
  test('with every pair of faults at every two calls of the SDK and of the vendor', async () => {
    const { histories, findings } = await surveyFaults((faults) => runHistory(how, faults), 2);
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(100);
  }, 120_000);
});
