import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { acceptedRun } from '../../lambdas/jobs/domain/job-run.ts';
import { DynamoDbJobRuns } from '../../lambdas/jobs/store/dynamodb-job-runs.ts';
import { workRun } from '../../lambdas/jobs/use/work-run.ts';
import type { OperationId } from '../../lambdas/kernel/ids.ts';
import { systemClock, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/once/store/dynamodb-consumer-records.ts';
import { countingJob, hearing, recordOf } from '../jobs/job-fixtures.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';
import { capacityTable, paidCapacity } from './bench-capacity.ts';
import { eventUnits } from './bench-event-units.ts';
import { PartitionMeter } from './bench-partition-meter.ts';

const PAYMENTS = 1_000;
/** Half of what a partition takes in a second (Amazon DynamoDB developer guide, "Burst and adaptive capacity"). */
const MOST_UNITS = 500;
const PAGE = resolve(import.meta.dirname, '..', '..', 'docs', 'benchmarks.md');

test('1,000 payments of one tenant, with references and a webhook each, write at most 500 units to any partition', async () => {
  const many = await paidCapacity(PAYMENTS);
  expect(many.busiest().filter(([, units]) => units > MOST_UNITS)).toEqual([]);
  expect(readFileSync(PAGE, 'utf8')).toContain(capacityTable(await paidCapacity(1), many, await eventUnits()));
});

test('a payment with a reference costs 13 write units, its event at most 9 in the views, its delivery at most 8', async () => {
  const meter = await paidCapacity(1);
  expect(meter.of('Idempotency') + meter.of('Ledger') + meter.of('Registry', 'REF#')).toBe(13);
  expect(meter.of('Views')).toBeLessThanOrEqual(9);
  expect(meter.of('Registry') - meter.of('Registry', 'REF#')).toBeLessThanOrEqual(8);
});

test('an event of an order costs at most 6 write units in the views, an event of a dispute at most 9', async () => {
  const counted = await eventUnits();
  expect(counted.map(({ event }) => event).filter((event) => event.startsWith('order.'))).toHaveLength(5);
  expect(counted.map(({ event }) => event).filter((event) => event.startsWith('dispute.'))).toHaveLength(3);
  expect(counted.filter(({ units, limit }) => units > limit || units < 5)).toEqual([]);
});

test('a run of a job without items costs at most 15 write units', async () => {
  const database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => systemClock.nowMs() });
  const meter = new PartitionMeter(TABLE_SHAPES);
  const client = database.clientWith((command, apply) => {
    meter.transaction = command === 'TransactWriteCommand';
    return apply();
  });
  database.listen((changes) => meter.note(changes));
  const pacing = { clock: systemClock, entropy: systemEntropy };
  const runs = new DynamoDbJobRuns(client, TABLES, pacing);
  const run = acceptedRun('resolve', systemClock.nowMs(), systemClock.nowMs());
  const asked = { ...recordOf(run), operationId: 'jobcall_1' as OperationId, expiresAtSeconds: 1_800_000_000 };
  await new DynamoDbConsumerRecords(client, TABLES, pacing).recordOnce(asked, []);
  await runs.accept(recordOf(run), run);
  const tasks = { enqueue: async () => undefined };
  const jobs = { resolve: countingJob(0) };
  const tools = { runs, tasks, jobs, observer: hearing(), runner: idempotentRunner, clock: systemClock };
  expect(await workRun(tools, run, 1)).toBe('succeeded');
  expect([...meter.units.values()].reduce((sum, units) => sum + units, 0)).toBeLessThanOrEqual(15);
});
