import { beforeAll, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { totalKey } from '../../lambdas/views/domain/lists.ts';
import { viewsOf } from '../../lambdas/views/domain/views.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { closeDays } from '../../lambdas/views/use/close-days.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import type { ViewStore } from '../../lambdas/views/use/view-store.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { faultKindsByEffect, type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { Actor, Crash, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { clientOf } from '../support/faulty-client.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { takenAt } from './ledger-reader-suite.ts';

const DAY_MS = Date.UTC(2026, 2, 1);
let processes = 0;
/**
 * A clock past the end of the day, whose waits take no time. It advances five minutes per process, so that the previous
 * process must have stopped.
 */
const LATER: Clock = {
  nowMs: () => DAY_MS + 50 * 60 * 60 * 1000 + processes * 5 * 60 * 1000,
  sleep: async () => undefined,
};
const pacing = { clock: LATER, entropy: countingEntropy() };

let table: string;
let made = 0;
beforeAll(async () => {
  ({ views: table } = await createTables('view-histories'));
});

const calm = () => new DynamoDbViews(documentClient(dynamoDbClient()), table, pacing);

function faulty(actor: Actor): ViewStore {
  const { awsEndpoint: endpoint } = emulatedAws();
  const { requestHandler } = dynamoDbClient().config;
  const client = clientOf(actor, { endpoint, region: 'us-east-1', credentials: CREDENTIALS, requestHandler });
  return new DynamoDbViews(documentClient(client), table, pacing);
}

/** Only the first two processes have faults. */
async function untilDone(plan: FaultPlan, work: (views: ViewStore) => Promise<unknown>): Promise<boolean> {
  for (const name of ['first', 'second', 'third']) {
    if (name === 'third') plan.active = false;
    const actor = new Actor(name, plan);
    processes += 1;
    try {
      await work(faulty(actor));
      if (!actor.crashed) return true;
    } catch (error) {
      const known = error instanceof RetryableError || error instanceof AmbiguousError || error instanceof Crash;
      if (!known && !actor.crashed) throw error;
    }
  }
  return false;
}

/** Projects a late payment into a closed day. The redelivery starts from the rows that the first delivery wrote. */
async function projectLate(faults: readonly PlannedFault[]): Promise<HistoryRun> {
  made += 1;
  const owner = { tenantId: tenantId(`ten_views_${process.pid}_${made}`), mode: 'test' } as const;
  const [event] = eventsOf(systemDigest, takenAt(owner, `k-${made}`, DAY_MS + 1));
  if (event === undefined) throw new Error('the event is missing');
  const views = calm();
  const closed = { ...totalKey(owner, DAY_MS), sequence: 0, body: '{"kind":"total","token":"t","sums":[]}' };
  await views.put([closed]);
  const plan = new FaultPlan(faults);
  const violations: string[] = [];
  if (!(await untilDone(plan, (store) => projectEvent({ runner: idempotentRunner, views: store }, event))))
    violations.push('never projected');
  const { lasting, ofReference, heads, projectedMark } = viewsOf(event);
  const rows = [...lasting, ...ofReference, ...heads, projectedMark];
  const found = await Promise.all(rows.map((row) => views.read(row)));
  if (JSON.stringify(found) !== JSON.stringify(rows)) violations.push('rows are missing or wrong');
  if ((await views.read(closed)) !== undefined) violations.push('a total without the entry remains');
  return { calls: plan.calls, violations };
}

async function closeDay(faults: readonly PlannedFault[]): Promise<HistoryRun> {
  made += 1;
  const owner = { tenantId: tenantId(`ten_views_${process.pid}_${made}`), mode: 'test' } as const;
  const [event] = eventsOf(systemDigest, takenAt(owner, `k-${made}`, DAY_MS + 1));
  if (event === undefined) throw new Error('the event is missing');
  const views = calm();
  await views.put(viewsOf(event).lasting.slice(0, 1));
  const plan = new FaultPlan(faults);
  const violations: string[] = [];
  const done = await untilDone(plan, async (store) => {
    const { more } = await closeDays({ views: store, ...pacing }, owner, 2);
    if (more) throw new RetryableError('more', 'the day is not closed yet');
  });
  if (!done) violations.push('never closed');
  const total = (await views.read(totalKey(owner, DAY_MS)))?.body ?? 'none';
  if (!total.includes('"kind":"total"') || !total.includes('"debit":"1000"')) violations.push(`the total is ${total}`);
  return { calls: plan.calls, violations };
}

describe.each([
  ['projecting an event into a closed day', projectLate],
  ['closing a day', closeDay],
])('%s on the DynamoDB API', (_what, history) => {
  test('leaves complete and correct views despite any single fault at any SDK call', async () => {
    const { histories, findings } = await surveyFaults(history, { faults: 1, kindsOf: faultKindsByEffect, oneOf: 7 });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(24, { slice: 3 }));
  });
});
