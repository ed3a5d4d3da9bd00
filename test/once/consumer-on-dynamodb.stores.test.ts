/** Tests the guarantee "one consumption". */
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/once/store/dynamodb-consumer-records.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { type Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { clientOf } from '../support/faulty-client.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import {
  type Consume,
  ConsumerWorld,
  deliver,
  naiveInTables,
  naiveOutside,
  outsideEffect,
  paidEvent,
  tableEffect,
} from './consumer-world.ts';

const STILL: Clock = { nowMs: () => 0, sleep: async () => undefined };
const pacing = { clock: STILL, entropy: countingEntropy() };

let tables: Awaited<ReturnType<typeof createTables>>;
let made = 0;
beforeAll(async () => {
  tables = await createTables('consumer-histories');
});

/** The histories share no items. */
const AT_ONCE = 8;

/**
 * Any SDK call can have a fault. The processes share one client, because creating a client takes longer than using it.
 */
function faultyRecords(): (actor: Actor) => DynamoDbConsumerRecords {
  const { awsEndpoint: endpoint } = emulatedAws();
  const { requestHandler } = dynamoDbClient().config;
  let living: Actor | undefined;
  const call: Actor['call'] = (label, voice, apply) => {
    invariant(living !== undefined, 'no process is running');
    return living.call(label, voice, apply);
  };
  const client = clientOf({ call }, { endpoint, region: 'us-east-1', credentials: CREDENTIALS, requestHandler });
  const records = new DynamoDbConsumerRecords(documentClient(client), tables, pacing);
  return (actor) => {
    living = actor;
    return records;
  };
}

async function rowsOf(eventId: string): Promise<number> {
  const { Count = 0 } = await documentClient(dynamoDbClient()).send(
    new QueryCommand({
      TableName: tables.views,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': `TEST#${eventId}` },
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
  const world = new ConsumerWorld({ recordsFor: faultyRecords(), rowsOf });
  let acknowledged = false;
  const once = async (name: string): Promise<void> => {
    acknowledged = (await deliver(how, name, plan, event, world)).acknowledged || acknowledged;
  };
  /**
   * Effects are permanent, so it is enough to count them at the end, and after the first delivery if it was
   * acknowledged.
   */
  const count = async (): Promise<void> => {
    const { rows, calls } = await world.effects(event);
    if (rows + calls > 1) violations.push(`I5: ${rows + calls} effects`);
    if (rows + calls === 0) violations.push('I5: acknowledged without effect');
  };
  await once('first');
  if (acknowledged) await count();
  await once('redelivery');
  const calls = plan.calm();
  if (!acknowledged) await once('third');
  await once('after all');
  await count();
  if (!acknowledged) violations.push('the event is never acknowledged');
  return { calls, violations };
}

describe.each([
  ['in Payonce’s own tables', tableEffect],
  ['outside Payonce', outsideEffect],
] as const)('an event that is redelivered, with an effect %s, on the DynamoDB API', (_where, how) => {
  test('takes effect once despite any two faults at any two calls to the SDK and the vendor', async () => {
    const { histories, findings } = await surveyFaults((faults) => runHistory(how, faults), {
      faults: 2,
      atOnce: AT_ONCE,
      oneOf: [1, 3, 7],
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(100, { slice: 5 }));
  });
});

describe.each([
  ['in Payonce’s own tables', naiveInTables],
  ['outside Payonce', naiveOutside],
] as const)('a naive consumer that checks for an earlier effect, and then acts %s', (_where, how) => {
  test('has two effects in histories with a single fault', async () => {
    const { findings } = await surveyFaults((faults) => runHistory(how, faults), {
      faults: 1,
      atOnce: AT_ONCE,
      until: 'I5: 2 effects',
    });
    expect(findings.flatMap(({ violations }) => violations)).toContain('I5: 2 effects');
  });
});
