import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { ReconcileHarness } from './reconcile-harness.ts';

const MINUTE_MS = 60_000;

let harness: ReconcileHarness;

beforeEach(() => {
  harness = new ReconcileHarness();
});

const mark = async () => Number(await harness.store.jobMarks.readMark('reconcile-recent'));
const fault = (chargeId: string) =>
  new AmbiguousError('processor_answer_unreadable', `the charge ${chargeId} is unreadable`);

/** The charge is created one minute after `madeAtMs` (Unix milliseconds). */
function withUnreadable(madeAtMs: number, names: { readonly paymentId?: PaymentId }): ProcessorBooks {
  const createdAtSeconds = Math.floor(madeAtMs / 1000) + 60;
  const unreadable = [{ chargeId: 'ch_odd', ...names, createdAtSeconds, fault: fault('ch_odd') }];
  return {
    ...harness.processor,
    listCharges: async (window, limit) => {
      const isListed = createdAtSeconds >= window.fromSeconds && createdAtSeconds < window.untilSeconds;
      return { ...(await harness.processor.listCharges(window, limit)), ...(isListed ? { unreadable } : {}) };
    },
  };
}

describe('an unreadable charge', () => {
  test.each([
    ['names no payment', {}],
    ['names a payment that does not exist', { paymentId: parsePaymentId(`pay_${'a'.repeat(32)}`) as PaymentId }],
  ])('is reported, and blocks neither later charges nor the position mark, if it %s', async (_, names) => {
    await harness.recent();
    const books = withUnreadable(harness.clock.nowMs(), names);
    harness.wait(5);
    const payment = await harness.paid('k-1');
    await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
    harness.wait(60);

    expect(await harness.recent({ books: [books] })).toMatchObject({ done: 1, failed: 1 });
    expect(harness.reported).toEqual([fault('ch_odd')]);
    expect(harness.differences()).toMatchObject([{ subject: payment }]);
    expect(harness.clock.nowMs() - (await mark())).toBeLessThanOrEqual(16 * MINUTE_MS);
  });

  test('is reported and holds back the mark if it names a payment, so that the next run compares the payment', async () => {
    await harness.recent();
    const before = await mark();
    const books = withUnreadable(harness.clock.nowMs(), { paymentId: await harness.paid('k-1') });
    harness.wait(5);
    const other = await harness.paid('k-2');
    await harness.inside.refund(harness.chargeOf(other).chargeId, 300);
    harness.wait(60);

    expect(await harness.recent({ books: [books] })).toMatchObject({ failed: 1 });
    expect(harness.reported).toEqual([fault('ch_odd')]);
    expect(harness.differences()).toMatchObject([{ subject: other }]);
    expect(await mark()).toBe(before);
    harness.wait(60);
    expect(await harness.recent()).toMatchObject({ failed: 0 });
    expect(await mark()).toBeGreaterThan(before);
  });
});
