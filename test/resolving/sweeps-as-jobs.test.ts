import { expect, test } from '@jest/globals';
import { chargeOperation } from '../../lambdas/kernel/ids.ts';
import { resolveJob } from '../../lambdas/resolving/use/resolve-all.ts';
import { retryOrphansJob } from '../../lambdas/resolving/use/retry-orphans.ts';
import { sweepWebhooksJob } from '../../lambdas/webhooks/use/sweep-webhooks.ts';
import { CallbackDesk, callback } from '../support/callback-desk.ts';
import { ChangeDesk } from '../support/change-desk.ts';
import { paymentIdFor, paymentRequest } from '../support/payment-fixtures.ts';
import { sweepJob } from '../support/sweep-job.ts';

const MINUTE_MS = 60_000;

function resolveJobOf(desk: ChangeDesk, told: (queue: string) => void = () => undefined) {
  return resolveJob({ ...desk.changeTools, orders: desk.store, told });
}

test('a run of the resolver finishes and counts the items of all its queues', async () => {
  const desk = new ChangeDesk();
  const crashed = paymentRequest('crashed');
  const processor = {
    ...desk.processor,
    charge: async (...call: Parameters<typeof desk.processor.charge>) => {
      await desk.processor.charge(...call);
      throw new Error('the process is gone');
    },
  };
  await expect(desk.pay(crashed, { processor })).rejects.toThrow('gone');
  desk.clock.advance(2 * MINUTE_MS);
  const queues: string[] = [];
  const counts = await sweepJob(
    resolveJobOf(desk, (queue) => queues.push(queue)),
    { nowMs: desk.clock.nowMs(), limit: 2 },
  );
  expect(counts).toMatchObject({ done: 1, left: 0, failed: 0 });
  expect(queues).toEqual(['claims', 'inquiries', 'returns']);
  expect((await desk.chain(crashed)).state.payment.status).toBe('succeeded');
});

test('a queue that cannot be read does not block the others', async () => {
  const desk = new ChangeDesk();
  const { store } = desk;
  const work = {
    staleClaims: () => Promise.reject(new Error('no')),
    inquiries: (limit: number) => store.inquiries(limit),
    closeInquiry: () => Promise.resolve(),
    chargesToReturn: (limit: number) => store.chargesToReturn(limit),
    closeReturn: () => Promise.resolve(),
  };
  const job = resolveJob({ ...desk.changeTools, work, orders: desk.store, told: () => undefined });
  expect(await sweepJob(job, { nowMs: desk.clock.nowMs() })).toEqual({ done: 0, left: 0, failed: 1, errors: [] });
  expect(desk.reported).toHaveLength(1);
});

test('items after the deadline are left, neither lost nor started', async () => {
  const desk = new CallbackDesk();
  for (const name of ['a', 'b', 'c']) {
    const paymentId = paymentIdFor(name);
    const order = { operationId: chargeOperation(paymentId), paymentId, amountMinor: 1000, currency: 'EUR' };
    const { chargeId } = desk.processor.inside.add({ ...order, source: 'tok_ok', capture: 'automatic' }, 'succeeded');
    await desk.deliver(callback(`evt_${name}`, chargeId));
  }
  const tools = { ...desk.tools, shelf: desk.store, books: [desk.processor], report: () => undefined };
  const told: object[] = [];
  const job = retryOrphansJob(tools, (retried) => told.push(retried));
  const nowMs = desk.clock.nowMs();
  expect(await job.handle('orphans', { scheduledForMs: nowMs, deadlineMs: nowMs })).toEqual({
    done: 0,
    left: 3,
    failed: 0,
  });
  expect(await sweepJob(job, { nowMs })).toMatchObject({ left: 3, failed: 0 });
  expect(told).toHaveLength(2);
});

test('the job also enqueues due webhooks', async () => {
  const tasks = [{ kind: 'replay' as const, replayId: 'whr_1' }];
  const enqueued: unknown[] = [];
  const job = sweepWebhooksJob(
    {
      due: { due: async () => tasks },
      tasks: { enqueue: async (all) => void enqueued.push(...all) },
      clock: { nowMs: () => 0 },
    },
    () => undefined,
  );
  expect(await sweepJob(job, { nowMs: 0 })).toMatchObject({ done: 1, left: 0, failed: 0 });
  expect(enqueued).toEqual(tasks);
});
