import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { ReconcileHarness } from './reconcile-harness.ts';

const HOUR = 60;

let harness: ReconcileHarness;

beforeEach(() => {
  harness = new ReconcileHarness();
});

describe('while a processor is unavailable', () => {
  const unavailable = () => new RetryableError('processor_unavailable', 'no response');
  const away = (): ProcessorBooks => ({
    ...harness.processor,
    name: 'second',
    account: 'acct_second',
    listCharges: () => Promise.reject(unavailable()),
  });
  const mark = () => harness.store.jobMarks.readMark('reconcile-recent');

  test.each(['before', 'after'])(
    'a run compares the available books, read %s the unavailable ones, but moves the mark only when both can be read',
    async (place) => {
      await harness.recent();
      const before = await mark();
      harness.wait(20);
      const payment = await harness.paid('k-1');
      await harness.inside.refund(harness.chargeOf(payment).chargeId, 300);
      harness.wait(HOUR);

      const books = place === 'before' ? [harness.processor, away()] : [away(), harness.processor];
      expect(await harness.recent({ books })).toMatchObject({ done: 1, left: 0, failed: 1 });
      expect(harness.reported).toEqual([unavailable()]);
      expect(harness.differences()).toMatchObject([{ subject: payment, status: 'suspected' }]);
      harness.wait(15);
      await harness.days({ books });
      expect(harness.differences()).toMatchObject([{ subject: payment, status: 'confirmed' }]);
      expect(await mark()).toBe(before);
      await harness.recent();
      expect(Number(await mark())).toBeGreaterThan(Number(before));
    },
  );

  test('no payment of the unavailable processor is read, because each read could wait for its timeout', async () => {
    await harness.recent();
    harness.wait(20);
    await harness.paid('k-1');
    harness.wait(HOUR);
    let reads = 0;
    const own: ProcessorBooks = {
      ...harness.processor,
      listCharges: () => Promise.reject(unavailable()),
      readCharge: () => {
        reads += 1;
        return Promise.reject(unavailable());
      },
    };
    const other = { ...createSandboxInProcess({ clock: harness.clock }), name: 'second' };
    expect(await harness.recent({ books: [own, other] })).toMatchObject({ done: 0, left: 1, failed: 1 });
    expect(reads).toBe(0);
  });

  test('a run fails if there is no other processor', async () => {
    await expect(harness.recent({ books: [away()] })).rejects.toEqual(unavailable());
  });
});
