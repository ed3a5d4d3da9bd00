import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import type { OutcomePlace } from '../../lambdas/payments/domain/transition.ts';
import { positionAt, timeOf } from '../../lambdas/payments/use/transition-reader.ts';
import type { ReconcileTools } from '../../lambdas/reconciliation/use/reconcile.ts';
import { ReconcileHarness } from './reconcile-harness.ts';

const DAY_MINUTES = 24 * 60;

test('a comparison covers only the time for which the Ledger is complete', async () => {
  const harness = new ReconcileHarness();
  await harness.recent();
  const payment = await harness.paid('k-1');
  await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
  const paidAtMs = harness.clock.nowMs();
  harness.wait(2 * DAY_MINUTES);
  const complete = (untilMs: number) => ({ carriedUntil: async () => ({ untilMs, latestMs: untilMs }) });
  for (const untilMs of [0, paidAtMs - 60_000]) {
    expect(await harness.recent(complete(untilMs))).toMatchObject({ done: 0, failed: 0 });
    expect(await harness.days(complete(untilMs))).toMatchObject({ done: 0, failed: 0 });
  }
  expect(Number(await harness.store.jobMarks.readMark('reconcile-recent'))).toBeLessThanOrEqual(paidAtMs);
  expect(await harness.recent(complete(paidAtMs + 60_000))).toMatchObject({ done: 1, failed: 0 });
  expect(harness.differences()).toMatchObject([{ subject: payment }]);
});

describe('while the copies of one of two databases are behind', () => {
  let harness: ReconcileHarness;
  let behindMs: number;
  const mark = async () => timeOf((await harness.store.jobMarks.readMark('reconcile-recent')) ?? positionAt(0));
  const carriedUntil = async () => ({ untilMs: behindMs, latestMs: harness.clock.nowMs() });

  beforeEach(async () => {
    harness = new ReconcileHarness();
    await harness.recent();
    behindMs = harness.clock.nowMs();
    harness.wait(20);
  });

  const without = (isMissing: (outcome: OutcomePlace) => boolean): Pick<ReconcileTools, 'outcomes'> => {
    const { ledger } = harness.store;
    return {
      outcomes: {
        outcomesAfter: async (...range) => {
          const page = await ledger.outcomesAfter(...range);
          return { ...page, outcomes: page.outcomes.filter(({ place }) => !isMissing(place)) };
        },
      },
    };
  };

  test('the payments of the other database are compared, and the mark waits for the missing rows', async () => {
    const payment = await harness.paid('k-1');
    await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
    harness.wait(60);
    expect(await harness.recent({ carriedUntil })).toMatchObject({ done: 1, failed: 0 });
    expect(harness.differences()).toMatchObject([{ subject: payment }]);
    expect(await mark()).toBeLessThanOrEqual(behindMs);
  });

  test('a missing row causes no difference, and is compared as soon as it is copied', async () => {
    const payment = await harness.paid('k-1');
    harness.wait(10 * DAY_MINUTES);
    await harness.recent();
    behindMs = harness.clock.nowMs();
    harness.wait(20);
    // The charge is old, so a comparison finds the payment only through the outcome of the refund.
    await harness.change(`${payment}/refunds`, 'r', { amount: 100 });
    await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
    const away = new RetryableError('store_unavailable', 'the database does not respond');
    const effects = { ...harness.tools().effects, listTransitions: () => Promise.reject(away) };
    for (let hour = 0; hour < 5; hour += 1) {
      harness.wait(60);
      await harness.recent({ ...without(() => true), effects, carriedUntil });
      await harness.days({ ...without(() => true), effects, carriedUntil });
    }
    expect(harness.differences()).toEqual([]);
    expect(await mark()).toBeLessThanOrEqual(behindMs);
    await harness.recent();
    expect(harness.differences()).toMatchObject([{ subject: payment }]);
  });

  test('a payment is compared although its newest row is missing', async () => {
    const payment = await harness.paid('k-1');
    await harness.change(`${payment}/refunds`, 'r', { amount: 100 });
    await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
    harness.wait(2 * DAY_MINUTES);
    const books = [{ ...harness.processor, listCharges: async () => ({ charges: [] }) }];
    const isNewest = ({ sequence }: OutcomePlace) => sequence > 2;
    await harness.days({ ...without(isNewest), books, carriedUntil });
    expect(harness.differences()).toMatchObject([{ subject: payment }]);
  });
});
