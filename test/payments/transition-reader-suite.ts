import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import type { RecentOutcomes, TransitionReader } from '../../lambdas/payments/use/transition-reader.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

export interface TransitionReaderUnderTest {
  readonly reader: TransitionReader & RecentOutcomes;
  readonly append: (transition: Transition) => Promise<void>;
}

/** The minute in which the fixtures' transitions are made. */
const MINUTE = Date.UTC(2026, 2, 1, 12);

/** The contract of the reader of transitions, over DynamoDB in memory and over its API. */
export function describeTransitionReader(name: string, make: () => Promise<TransitionReaderUnderTest>): void {
  let made = 0;
  let reader: TransitionReaderUnderTest['reader'];
  let paymentId: PaymentId;
  let first: Transition;
  let outcome: Transition;

  beforeEach(async () => {
    const { append, ...rest } = await make();
    ({ reader } = rest);
    made += 1;
    paymentId = paymentIdFor(`reader-${process.pid}-${made}`);
    first = pendingTransition(paymentId);
    outcome = outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' });
    await append(first);
    await append(outcome);
  });

  describe(`the ${name} reader of transitions`, () => {
    test('reads each complete transition by its place', async () => {
      expect(await reader.readTransition({ paymentId, sequence: 1 })).toEqual(first);
      expect(await reader.readTransition({ paymentId, sequence: 2 })).toEqual(outcome);
      expect(await reader.readTransition({ paymentId, sequence: 3 })).toBeUndefined();
    });

    test('finds the outcomes of a minute and no pending transitions', async () => {
      const ofPayment = (await reader.outcomesOfMinute(MINUTE)).filter(
        (place) => 'paymentId' in place && place.paymentId === paymentId,
      );
      expect(ofPayment).toEqual([{ paymentId, sequence: 2 }]);
    });

    test('finds nothing in other minutes', async () => {
      expect(await reader.outcomesOfMinute(MINUTE - 60_000)).toEqual([]);
      expect(await reader.outcomesOfMinute(MINUTE + 60_000)).toEqual([]);
    });
  });
}
