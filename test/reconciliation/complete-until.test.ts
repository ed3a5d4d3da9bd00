import { expect, test } from '@jest/globals';
import { ReconcileHarness } from './reconcile-harness.ts';

const DAY_MINUTES = 24 * 60;

test('a comparison covers only the time for which the Ledger is complete', async () => {
  const harness = new ReconcileHarness();
  await harness.recent();
  const payment = await harness.paid('k-1');
  await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
  const paidAtMs = harness.clock.nowMs();
  harness.wait(2 * DAY_MINUTES);
  const complete = (untilMs: number) => ({ completeUntilMs: async () => untilMs });
  for (const untilMs of [0, paidAtMs - 60_000]) {
    expect(await harness.recent(complete(untilMs))).toMatchObject({ done: 0, failed: 0 });
    expect(await harness.days(complete(untilMs))).toMatchObject({ done: 0, failed: 0 });
  }
  expect(Number(await harness.store.jobMarks.readMark('reconcile-recent'))).toBeLessThanOrEqual(paidAtMs);
  expect(await harness.recent(complete(paidAtMs + 60_000))).toMatchObject({ done: 1, failed: 0 });
  expect(harness.differences()).toMatchObject([{ subject: payment }]);
});
