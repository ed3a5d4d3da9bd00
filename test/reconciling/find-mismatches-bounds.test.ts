import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { parsePaymentId } from '../../lambdas/kernel/ids.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { MismatchDesk, START_SECONDS } from '../support/mismatch-desk.ts';

let desk: MismatchDesk;

beforeEach(() => {
  desk = new MismatchDesk();
});

describe('more than one request can compare', () => {
  const charge = (index: number): ProcessorCharge => ({
    chargeId: `ch_${index}`,
    status: 'succeeded',
    amountMinor: 1,
    capturedMinor: 1,
    currency: 'EUR',
    refunds: [],
    disputes: [],
    createdAtSeconds: START_SECONDS,
  });
  const withCharges = (charges: readonly ProcessorCharge[]): ProcessorBooks => ({
    ...desk.payments.processor,
    chargesOfPayment: async (paymentId) => charges.filter((each) => each.paymentId === paymentId),
    listCharges: async () => ({ charges }),
  });
  const named = (index: number): ProcessorCharge => {
    const digits = String(index)
      .padStart(4, '0')
      .replaceAll(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)));
    const paymentId = parsePaymentId(`pay_${'x'.repeat(28)}${digits}`);
    return { ...charge(index), ...(paymentId === undefined ? {} : { paymentId }) };
  };

  test('is refused with what there is too much of, and up to that is compared', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => charge(index));
    expect(await desk.find({ limit: 1 }, withCharges(many(5_000)))).toMatchObject({
      charges: 5_000,
      hasMore: true,
    });
    expect(await desk.find({}, withCharges(many(5_001)))).toEqual({
      kind: 'too_many',
      of: 'charges',
      most: 5_000,
    });

    const payments = (count: number) => Array.from({ length: count }, (_, index) => named(index));
    expect(await desk.find({}, withCharges(payments(500)))).toMatchObject({ charges: 500, payments: 0 });
    expect(await desk.find({}, withCharges(payments(501)))).toEqual({
      kind: 'too_many',
      of: 'payments',
      most: 500,
    });
  });

  test('a list without an end is read to its bound and no further', async () => {
    let pages = 0;
    const endless: ProcessorBooks = {
      ...desk.payments.processor,
      listCharges: async () => {
        pages += 1;
        return { charges: Array.from({ length: 100 }, (_, index) => charge(index)), next: 'more' };
      },
    };

    expect(await desk.find({}, endless)).toMatchObject({ kind: 'too_many', of: 'charges' });
    expect(pages).toBe(51);
  });

  test('asks the processor about some payments at a time, never about all at once', async () => {
    let [now, most] = [0, 0];
    const books: ProcessorBooks = {
      ...withCharges(Array.from({ length: 100 }, (_, index) => named(index))),
      chargesOfPayment: async () => {
        now += 1;
        most = Math.max(most, now);
        await Promise.resolve();
        now -= 1;
        return [];
      },
    };

    await desk.find({}, books);

    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(8);
  });

  test('that takes longer than a client waits is given up, and no further payment is asked about', async () => {
    let asked = 0;
    const slow: ProcessorBooks = {
      ...withCharges(Array.from({ length: 100 }, (_, index) => named(index))),
      chargesOfPayment: async (_paymentId, { timeoutMs }) => {
        asked += 1;
        expect(timeoutMs).toBeLessThanOrEqual(5_000);
        await desk.payments.clock.sleep(3_000);
        return [];
      },
    };

    await expect(desk.find({}, slow)).rejects.toMatchObject({ code: 'comparison_too_slow' });
    expect(asked).toBeLessThanOrEqual(8);
  });

  test('a processor that cannot be read makes the whole fail, never half a comparison', async () => {
    await desk.paid('k-1');
    const away: ProcessorBooks = {
      ...desk.payments.processor,
      chargesOfPayment: () => Promise.reject(new RetryableError('processor_unavailable', 'no answer')),
    };

    await expect(desk.find({}, away)).rejects.toMatchObject({ code: 'processor_unavailable' });
  });

  test('after the first failure no further payment is asked about', async () => {
    let asked = 0;
    const failingOnce: ProcessorBooks = {
      ...withCharges(Array.from({ length: 100 }, (_, index) => named(index))),
      chargesOfPayment: async () => {
        asked += 1;
        if (asked === 1) throw new RetryableError('processor_unavailable', 'no answer');
        return [];
      },
    };

    await expect(desk.find({}, failingOnce)).rejects.toMatchObject({ code: 'processor_unavailable' });
    await setImmediate();
    expect(asked).toBeLessThanOrEqual(16);
  });
});
