import { expect, test } from '@jest/globals';
import { type CarriedDatabase, carryJob } from '../../lambdas/authority/carry-job.ts';
import { readCarriedUntil } from '../../lambdas/jobs/use/carried-until.ts';
import { OUTBOX_SHARDS } from '../../lambdas/postgres/outbox.ts';
import { ReconcileHarness } from '../reconciliation/reconcile-harness.ts';
import { RUN } from '../support/causes.ts';

const away = () => Promise.reject(new Error('away'));

function database(
  harness: ReconcileHarness,
  state: 'available' | 'unavailable' | 'one row cannot be copied',
): CarriedDatabase {
  const bad = state === 'one row cannot be copied' ? ['ord_bad'] : [];
  const sinceMs = harness.clock.nowMs();
  const isAway = state === 'unavailable';
  return {
    clock: harness.clock,
    record: isAway ? away : async () => undefined,
    outbox: {
      waitingChains: isAway ? away : async (shard) => (shard === 0 ? bad.map((chainId) => ({ chainId, sinceMs })) : []),
      state: isAway ? away : async () => ({ oldestMs: bad.length > 0 ? sinceMs : undefined, stopped: 0 }),
    },
    carrier: { carry: () => Promise.reject(new SyntaxError('a form of row that this code cannot read')) },
    observer: { stopped: () => undefined, failed: () => undefined, observed: () => undefined },
  };
}

test.each(['available', 'unavailable', 'one row cannot be copied'] as const)(
  'a refund that Payonce lacks is reported within a day, regardless of the state of another database: %s',
  async (state) => {
    const harness = new ReconcileHarness();
    const marks = harness.store.jobMarks;
    const carry = async (other: CarriedDatabase): Promise<void> => {
      const job = carryJob({ ...database(harness, 'available'), marks, others: [other] });
      const run = { ...RUN, scheduledForMs: harness.clock.nowMs(), deadlineMs: Number.POSITIVE_INFINITY };
      const { items } = await job.page(undefined, OUTBOX_SHARDS + 2, run);
      await Promise.allSettled(items.map(({ thing }) => job.handle(thing, run)));
    };
    const carriedUntil = async () => (await readCarriedUntil(marks)) ?? { untilMs: 0, latestMs: 0 };
    await carry(database(harness, 'available'));
    await harness.recent({ carriedUntil });
    const troubled = database(harness, state);
    const payment = await harness.paid('k-1');
    await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
    for (let hour = 0; hour < 24; hour += 1) {
      harness.wait(60);
      await carry(troubled);
      await harness.recent({ carriedUntil });
    }
    expect(harness.differences()).toMatchObject([{ subject: payment, status: 'confirmed' }]);
  },
);
