import { expect, test } from '@jest/globals';
import { sweepsJob } from '../../lambdas/jobs/use/pieces-job.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { observedWork } from '../../lambdas/resolving/use/observed-work.ts';
import { resolveJob } from '../../lambdas/resolving/use/resolve-all.ts';
import { retryOrphansJob } from '../../lambdas/resolving/use/retry-orphans.ts';
import { sweepWebhooksPiece } from '../../lambdas/webhooks/use/sweep-webhooks.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { callback, paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { RUN } from '../support/causes.ts';
import { Stores } from '../world/stores.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;

function resolveJobOf(harness: World, onResolved: (queue: string) => void = () => undefined) {
  return resolveJob({ ...harness.tools, orders: harness.store, onResolved });
}

test('a run of the resolver finishes and counts a stale claim, and reports the result of each queue', async () => {
  const harness = new World();
  const crashed = paymentRequest('crashed');
  await harness.claimThenDie(crashed, true);
  harness.clock.advance(2 * MINUTE_MS);
  const queues: string[] = [];
  const counts = await sweepJob(
    resolveJobOf(harness, (queue) => queues.push(queue)),
    { nowMs: harness.clock.nowMs(), limit: 2 },
  );
  expect(counts).toMatchObject({ done: 1, left: 0, failed: 0 });
  expect(queues).toEqual(['claims', 'inquiries', 'returns', 'orders']);
  expect((await harness.chain(crashed)).state.payment.status).toBe('succeeded');
});

test('a run reports an unreadable queue, counts one failure, and does not throw', async () => {
  const harness = new World();
  const work = {
    ...observedWork(harness.store, harness.clock, () => undefined),
    staleClaims: () => Promise.reject(new Error('no')),
  };
  const job = resolveJob({ ...harness.tools, work, orders: harness.store, onResolved: () => undefined });
  expect(await sweepJob(job, { nowMs: harness.clock.nowMs() })).toEqual({ done: 0, left: 0, failed: 1, errors: [] });
  expect(harness.reported).toHaveLength(1);
});

test('items that remain at the deadline are neither started nor lost', async () => {
  const harness = new World();
  for (const name of ['a', 'b', 'c']) {
    const paymentId = paymentIdFor(name);
    const order = { operationId: chargeOperation(paymentId), paymentId, amountMinor: 1000 };
    const { chargeId } = await harness.processor.inside.charge(order);
    await harness.deliver(callback(`evt_${name}`, chargeId));
  }
  const onResolved: object[] = [];
  let reads = 0;
  const readCharge = (...asked: Parameters<typeof harness.processor.readCharge>) => {
    reads += 1;
    return harness.processor.readCharge(...asked);
  };
  const tools = { ...harness.tools, books: [{ ...harness.processor, readCharge }] };
  const job = retryOrphansJob(tools, (retried) => onResolved.push(retried));
  const nowMs = harness.clock.nowMs();
  expect(await job.handle('orphans', { ...RUN, scheduledForMs: nowMs, deadlineMs: nowMs })).toEqual({
    done: 0,
    left: 3,
    failed: 0,
  });
  expect(reads).toBe(0);
  expect(await sweepJob(job, { nowMs })).toMatchObject({ left: 3, failed: 0 });
  expect(reads).toBeGreaterThanOrEqual(3);
  expect(onResolved).toHaveLength(2);
});

test('the sweep of webhooks enqueues due tasks', async () => {
  const task = { kind: 'replay' as const, replayId: 'whr_1' };
  const due = [{ task, sweepAtMs: 0 }];
  const enqueued: unknown[] = [];
  const sweep = sweepWebhooksPiece(
    {
      webhooks: new Stores().webhooks,
      due: {
        due: async () => due.splice(0),
        dueInLane: async () => [],
        move: async () => ({ group: 'ten_a#test', dueAtMs: 0 }),
        finish: async () => undefined,
      },
      tasks: { enqueue: async (all) => void enqueued.push(...all) },
      publish: async () => [],
      clock: { nowMs: () => 0 },
      waiting: () => undefined,
      report: () => undefined,
    },
    () => undefined,
  );
  expect(await sweepJob(sweepsJob({ due: sweep }), { nowMs: 0 })).toMatchObject({ done: 1, left: 0, failed: 0 });
  expect(enqueued).toEqual([{ task, group: 'ten_a#test' }]);
});
