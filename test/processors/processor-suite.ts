import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { ChargeOrder, Processor } from '../../lambdas/payments/use/processor.ts';
import { freshOrder } from '../orders/sandbox-orders.ts';
import { testsOf } from './declared-tests.ts';

export interface ProcessorUnderTest extends AsyncDisposable {
  readonly processor: Processor;
  chargesOf(paymentId: string): Promise<readonly { readonly id: string; readonly status: string }[]>;
  /** Makes the next `count` charges behave like the first request of a charge with the test token `source`. */
  failNext(count: number, source: string): Promise<void>;
  advance(milliseconds: number): void;
}

const LIMIT = { timeoutMs: 600_000 };

/** @param declared the abilities that the processor's contract declares; tests of other abilities are skipped */
export function describeProcessor(
  name: string,
  declared: Processor['abilities'],
  open: () => Promise<ProcessorUnderTest>,
): void {
  const hasHolds = declared.holdValidityMs > 0;
  const holds = testsOf(hasHolds, 'the processor declares no holds');
  const noHolds = testsOf(!hasHolds, 'the processor declares holds');

  describe(`the ${name}`, () => {
    let subject: ProcessorUnderTest;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(async () => {
      await subject[Symbol.asyncDispose]();
    });

    const charge = (order: ChargeOrder) => subject.processor.charge(order, LIMIT);
    const find = (order: ChargeOrder) => subject.processor.findCharge(order, LIMIT);
    const fault = (order: ChargeOrder): Promise<unknown> =>
      charge(order).then(
        (outcome) => `the call returned ${outcome.kind} instead of failing`,
        (error: unknown) => error,
      );

    test('is ready while no call fails', async () => {
      await expect(subject.processor.ready()).resolves.toBeUndefined();
    });

    test('charges tok_ok and tok_slow once, and the look-up finds the charge', async () => {
      for (const source of ['tok_ok', 'tok_slow']) {
        const order = freshOrder({ source });
        const outcome = await charge(order);
        const [made, ...more] = await subject.chargesOf(order.paymentId);
        expect(more).toEqual([]);
        expect(made?.status).toBe('succeeded');
        expect(outcome).toEqual({ kind: 'succeeded', chargeId: made?.id });
        expect(await find(order)).toEqual(outcome);
      }
    });

    holds.test('authorizes a charge with manual capture', async () => {
      const order = freshOrder({ capture: 'manual' });
      const outcome = await charge(order);
      const [made] = await subject.chargesOf(order.paymentId);
      expect(made?.status).toBe('authorized');
      expect(outcome).toEqual({ kind: 'authorized', chargeId: made?.id });
      expect(await find(order)).toEqual(outcome);
    });

    noHolds.test('rejects a charge with manual capture, and the processor stores nothing', async () => {
      const order = freshOrder({ capture: 'manual' });
      expect((await charge(order)).kind).toBe('rejected');
      expect(await subject.chargesOf(order.paymentId)).toEqual([]);
    });

    test('returns a decline and its reason as an outcome, and the look-up returns the same decline', async () => {
      const order = freshOrder({ source: 'tok_declined' });
      const outcome = await charge(order);
      const [made, ...more] = await subject.chargesOf(order.paymentId);
      expect(more).toEqual([]);
      expect(outcome).toEqual({
        kind: 'declined',
        chargeId: made?.id,
        failure: { code: 'card_declined', message: 'The card was declined.' },
      });
      expect(made?.status).toBe('declined');
      expect(await find(order)).toEqual(outcome);
      expect(await charge(order)).toEqual(outcome);
      expect(await subject.chargesOf(order.paymentId)).toHaveLength(1);
    });

    test('reports an invalid request as rejected, with the reason, and the processor stores nothing', async () => {
      const order = freshOrder({ source: 'tok_unknown' });
      expect(await charge(order)).toEqual({
        kind: 'rejected',
        failure: { code: 'invalid_source', message: 'There is no source tok_unknown.' },
      });
      expect(await find(order)).toEqual({ kind: 'absent' });
    });

    test('charges once for a charge request that is sent again, with the same outcome', async () => {
      const order = freshOrder();
      const outcome = await charge(order);
      expect(await charge(order)).toEqual(outcome);
      expect(await subject.chargesOf(order.paymentId)).toHaveLength(1);
    });

    test('charges once for ten concurrent sends of one charge request, with one outcome', async () => {
      const order = freshOrder();
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => charge(order)));
      expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
      expect(await subject.chargesOf(order.paymentId)).toHaveLength(1);
    });

    test('creates two charges for two charge requests', async () => {
      const [one, other] = [freshOrder(), freshOrder()];
      expect(await charge(one)).not.toEqual(await charge(other));
      expect(await subject.chargesOf(one.paymentId)).toHaveLength(1);
      expect(await subject.chargesOf(other.paymentId)).toHaveLength(1);
    });

    test('reports a charge request that was never sent as absent', async () => {
      expect(await find(freshOrder())).toEqual({ kind: 'absent' });
    });

    test.each([
      ['tok_flaky', 'processor_error'],
      ['tok_timeout_not_charged', 'processor_timeout'],
    ])(
      'first reports the outcome of %s as unknown, although nothing is charged; the look-up finds no charge, and a second send creates it',
      async (source, code) => {
        const order = freshOrder({ source });
        const error = await fault(order);
        expect(error).toBeInstanceOf(AmbiguousError);
        // The API Gateway of a deployed sandbox may time out before the caller does.
        expect(error).toMatchObject({ code: expect.stringMatching(`^(${code}|processor_error)$`) });
        expect(await find(order)).toEqual({ kind: 'absent' });
        const outcome = await charge(order);
        expect(outcome.kind).toBe('succeeded');
        expect(await find(order)).toEqual(outcome);
        expect(await subject.chargesOf(order.paymentId)).toHaveLength(1);
      },
    );

    test.each(['tok_timeout_charged', 'tok_malformed'])(
      'first reports the outcome of %s as unknown, although it is charged; the look-up and a second send return the charge',
      async (source) => {
        const order = freshOrder({ source });
        expect(await fault(order)).toBeInstanceOf(AmbiguousError);
        const [made] = await subject.chargesOf(order.paymentId);
        const outcome = { kind: 'succeeded', chargeId: made?.id };
        expect(await find(order)).toEqual(outcome);
        expect(await charge(order)).toEqual(outcome);
        expect(await subject.chargesOf(order.paymentId)).toHaveLength(1);
      },
    );

    test('first reports tok_rate_limited as not applied, with a Retry-After, and creates one charge at the second send', async () => {
      const order = freshOrder({ source: 'tok_rate_limited' });
      const error = await fault(order);
      expect(error).toBeInstanceOf(RetryableError);
      expect(error).toMatchObject({ code: 'processor_rate_limited', retryAfterSeconds: 1 });
      expect(await find(order)).toEqual({ kind: 'absent' });
      expect((await charge(order)).kind).toBe('succeeded');
    });

    test('reports tok_unauthorized as not applied every time', async () => {
      const order = freshOrder({ source: 'tok_unauthorized' });
      for (let send = 1; send <= 2; send += 1) {
        const error = await fault(order);
        expect(error).toBeInstanceOf(RetryableError);
        expect(error).toMatchObject({ code: 'processor_unauthorized' });
      }
      expect(await find(order)).toEqual({ kind: 'absent' });
    });

    test('reports the outcome as unknown, never as rejected, and charges nothing if a known key has a different amount', async () => {
      const order = freshOrder();
      await charge(order);
      const changed = { ...order, amountMinor: 1 };
      expect(await fault(changed)).toMatchObject({ name: 'AmbiguousError', code: 'processor_answer_mismatch' });
      await expect(find(changed)).rejects.toMatchObject({ code: 'processor_answer_mismatch' });
      expect(await subject.chargesOf(order.paymentId)).toHaveLength(1);
    });

    test('applies injected failures to the next sends, regardless of their source', async () => {
      const order = freshOrder();
      await subject.failNext(2, 'tok_flaky');
      expect(await fault(order)).toBeInstanceOf(AmbiguousError);
      expect(await fault(order)).toBeInstanceOf(AmbiguousError);
      expect((await charge(order)).kind).toBe('succeeded');
      expect(await subject.chargesOf(order.paymentId)).toHaveLength(1);
    });

    test('recognizes a key for exactly the retention period that it declares', async () => {
      const { keyRetentionMs } = subject.processor.abilities;
      const order = freshOrder();
      const outcome = await charge(order);
      subject.advance(keyRetentionMs - 1);
      expect(await charge(order)).toEqual(outcome);
      subject.advance(1);
      expect(await charge(order)).not.toEqual(outcome);
      expect(await subject.chargesOf(order.paymentId)).toHaveLength(2);
      await expect(find(order)).rejects.toBeInstanceOf(AmbiguousError);
    });
  });
}
