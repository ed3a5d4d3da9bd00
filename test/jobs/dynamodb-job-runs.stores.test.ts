import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { acceptedRun, type JobRun, withFailure, withPageStarted } from '../../lambdas/jobs/domain/job-run.ts';
import { DynamoDbJobRuns } from '../../lambdas/jobs/store/dynamodb-job-runs.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { EffectRecord } from '../../lambdas/once/domain/idempotency.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { clientOf, transactionConflict } from '../support/faulty-client.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { recordOf } from './job-fixtures.ts';
import { describeJobRuns } from './job-runs-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('jobs');
});

const T0 = Date.UTC(2026, 2, 1, 12);
const LEASE = { nowMs: T0, leaseExpiresAtMs: T0 + 150_000 };

function storeOver(client: DynamoDBClient = dynamoDbClient()): DynamoDbJobRuns {
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return new DynamoDbJobRuns(documentClient(client), tables, pacing);
}

function connection() {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  return { endpoint, region, credentials: CREDENTIALS, maxAttempts: 1 };
}

function faulty(faults: readonly PlannedFault[]): DynamoDbJobRuns {
  return storeOver(clientOf(new Actor('worker', new FaultPlan(faults)), connection()));
}

describeJobRuns('dynamodb', async () => storeOver());

let made = 0;
async function accepted(): Promise<{ run: JobRun; record: EffectRecord }> {
  made += 1;
  const run = acceptedRun(`faulty-${process.pid}-${made}`, T0, T0);
  await storeOver().accept(recordOf(run), run);
  return { run, record: recordOf(run) };
}

describe('after a fault,', () => {
  test('the store reports that it accepted the run', async () => {
    const { run, record } = await accepted();
    const again = acceptedRun(run.jobId, T0 + 60_000, T0);
    const store = faulty([{ point: 1, kind: 'ambiguous_applied' }]);
    expect(await store.accept(recordOf(again), again)).toEqual({ kind: 'recorded' });
    expect(await store.accept(record, run)).toEqual({ kind: 'recorded' });
  });

  test('the lock is acquired, with a newer token', async () => {
    const { run } = await accepted();
    const lock = await faulty([{ point: 1, kind: 'ambiguous_applied' }]).lock(run.jobId, run.runId, LEASE);
    expect(lock?.token).toBe(2);
  });

  test.each(['ambiguous_applied', 'ambiguous_lost', 'throttle'] as const)('a run is saved (%s)', async (kind) => {
    const { run } = await accepted();
    const store = faulty([{ point: 2, kind }]);
    const lock = await store.lock(run.jobId, run.runId, LEASE);
    if (lock === undefined) throw new Error('another run holds the lock');
    const begun = withPageStarted(run, T0);
    expect(await store.save(begun, lock, T0 + 300_000)).toBe(true);
    expect(await store.readRun(run.jobId, run.runId)).toEqual(begun);
  });

  test('a save can be repeated even if another worker has acquired the lock in the meantime', async () => {
    const { run } = await accepted();
    const store = storeOver();
    const lock = await store.lock(run.jobId, run.runId, LEASE);
    if (lock === undefined) throw new Error('another run holds the lock');
    const begun = withPageStarted(run, T0);
    await store.save(begun, lock, T0 + 300_000);
    await store.lock(run.jobId, run.runId, LEASE);
    // A second save of the same state also succeeds, because this worker has already written this state.
    expect(await store.save(begun, lock, T0 + 300_000)).toBe(true);
    expect(await store.save({ ...begun, version: 3 }, lock, T0 + 300_000)).toBe(false);
  });
});

test('a transaction conflict is retried', async () => {
  const { run } = await accepted();
  let conflicts = 2;
  const client = new DynamoDBClient(connection());
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (context.commandName !== 'TransactWriteItemsCommand' || conflicts === 0) return next(args);
      conflicts -= 1;
      throw transactionConflict(2);
    },
    { step: 'initialize', priority: 'high' },
  );
  const store = storeOver(client);
  const lock = await store.lock(run.jobId, run.runId, LEASE);
  if (lock === undefined) throw new Error('another run holds the lock');
  expect(await store.save(withPageStarted(run, T0), lock, T0)).toBe(true);
  expect(conflicts).toBe(0);
});

test('the row of a run expires thirty days after its end or, without an end, after its acceptance; the row of the lock expires thirty days after the end', async () => {
  const { run } = await accepted();
  const store = storeOver();
  const row = async (pk: string, sk: string) => {
    const { Item } = await documentClient(dynamoDbClient()).send(
      new GetCommand({ TableName: tables.registry, Key: { pk, sk }, ConsistentRead: true }),
    );
    return Item;
  };
  const expiries = async () => {
    const found = [
      await row(`JOB#${run.jobId}`, 'RUN#2026-03-01T12:00:00Z'),
      await row(`JOB_LOCK#${run.jobId}`, 'LOCK'),
    ];
    return found.map((each): unknown => each?.['expiresAt']);
  };
  const lock = await store.lock(run.jobId, run.runId, LEASE);
  if (lock === undefined) throw new Error('another run holds the lock');
  const begun = withPageStarted(run, T0);
  await store.save(begun, lock, T0);
  expect(await expiries()).toEqual([Math.ceil(run.acceptedAtMs / 1000) + 30 * 86_400, undefined]);
  await store.save(withFailure(begun, 'overdue', T0 + 1), lock, T0);
  const inThirtyDays = T0 / 1000 + 1 + 30 * 86_400;
  expect(await expiries()).toEqual([inThirtyDays, inThirtyDays]);
  await store.lock(run.jobId, acceptedRun(run.jobId, T0 + 60_000, T0).runId, LEASE);
  expect(await expiries()).toEqual([inThirtyDays, undefined]);
});
