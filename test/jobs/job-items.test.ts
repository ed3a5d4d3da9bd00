import { describe, expect, test } from '@jest/globals';
import { acceptedRun, type RunId, withFailure, withPageStarted } from '../../lambdas/jobs/domain/job-run.ts';
import { DynamoDbJobRuns } from '../../lambdas/jobs/store/dynamodb-job-runs.ts';
import { runRow } from '../../lambdas/jobs/store/job-items.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const T0 = Date.UTC(2026, 2, 1, 12);
const DAY_SECONDS = 86_400;

describe('the row of a run', () => {
  const accepted = acceptedRun('close-days', T0, T0 + 5_000);

  test('expires thirty days after the run ends', () => {
    const ended = withFailure(accepted, 'overdue', T0 + 60_000);
    expect(runRow(ended)['expiresAt']).toBe(T0 / 1000 + 60 + 30 * DAY_SECONDS);
  });

  test('expires thirty days after the run’s acceptance if the run never begins or never ends', () => {
    const at = T0 / 1000 + 5 + 30 * DAY_SECONDS;
    expect(runRow(accepted)['expiresAt']).toBe(at);
    expect(runRow(withPageStarted(accepted, T0 + 60_000))['expiresAt']).toBe(at);
  });
});

test('a run is found only under its own id, even if another job’s name has the same length', async () => {
  const run = acceptedRun('republish-events', T0, T0);
  const client = documentClient();
  client.middlewareStack.add(() => async () => ({ output: { Item: runRow(run), $metadata: {} }, response: {} }), {
    step: 'initialize',
    priority: 'high',
  });
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  const store = new DynamoDbJobRuns(client, { idempotency: 'records', ledger: 'ledger', registry: 'rows' }, pacing);
  const other = run.runId.replace('republish-events', 'reconcile-recent') as RunId;
  expect(await store.readRun('republish-events', run.runId)).toEqual(run);
  expect(await store.readRun('republish-events', other)).toBeUndefined();
});
