import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { nextTransition, type OutcomePlace, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { chainOf } from '../../lambdas/payments/use/payment-chain.ts';
import {
  positionAt,
  type RecentOutcomes,
  type TransitionReader,
} from '../../lambdas/payments/use/transition-reader.ts';
import { requestedAt } from '../support/causes.ts';
import { sliceOf } from '../support/slice.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

export interface TransitionReaderUnderTest {
  readonly reader: TransitionReader & RecentOutcomes;
  readonly append: (transition: Transition) => Promise<void>;
}

const DAY_MS = 24 * 60 * 60_000;
/** The first millisecond of a day in which only this suite writes. */
let unusedDayMs = Date.UTC(2031, 0, 1);

/** The tests run on in-memory DynamoDB and on the DynamoDB API. */
export function describeTransitionReader(name: string, make: () => Promise<TransitionReaderUnderTest>): void {
  let made = 0;
  let reader: TransitionReaderUnderTest['reader'];
  let append: TransitionReaderUnderTest['append'];
  let paymentId: PaymentId;
  let first: Transition;
  let outcome: Transition;

  beforeEach(async () => {
    ({ reader, append } = await make());
    made += 1;
    paymentId = paymentIdFor(`reader-${process.pid}-${made}`);
    first = pendingTransition(paymentId);
    outcome = outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' });
    await append(first);
    await append(outcome);
  });

  describe(`the ${name} transition reader`, () => {
    test('reads a transition with all its fields, by payment and sequence number', async () => {
      expect(await reader.readTransition({ paymentId, sequence: 1 })).toEqual(first);
      expect(await reader.readTransition({ paymentId, sequence: 2 })).toEqual(outcome);
      expect(await reader.readTransition({ paymentId, sequence: 3 })).toBeUndefined();
    });

    test('lists outcomes but no pending transitions', async () => {
      const { occurredAtMs } = outcome;
      const { outcomes } = await reader.outcomesAfter(positionAt(occurredAtMs), occurredAtMs + 1, 1_000);
      const places = outcomes.map(({ place }) => place);
      expect(places.filter((place) => 'paymentId' in place && place.paymentId === paymentId)).toEqual([
        { paymentId, sequence: 2 },
      ]);
    });

    /** Each payment succeeds on an unused day, at its offset from the start of that day. */
    async function succeedAt(offsetsMs: readonly number[]): Promise<{ dayMs: number; places: OutcomePlace[] }> {
      unusedDayMs += 30 * DAY_MS;
      const places: OutcomePlace[] = [];
      for (const [index, offsetMs] of offsetsMs.entries()) {
        const id = paymentIdFor(`reader-${process.pid}-${made}-${index}`);
        const pending = pendingTransition(id);
        const { type, payment, postings } = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
        const at = requestedAt(unusedDayMs + offsetMs);
        await append(nextTransition(systemDigest, chainOf([pending]), { type, payment, postings }, at));
        places.push({ paymentId: id, sequence: 2 });
      }
      return { dayMs: unusedDayMs, places };
    }

    async function pagesOf(fromMs: number, untilMs: number, limit: number): Promise<readonly OutcomePlace[]> {
      const found: OutcomePlace[] = [];
      for (let position = positionAt(fromMs), pages = 0; pages < 1_000; pages += 1) {
        const { outcomes, isLast } = await reader.outcomesAfter(position, untilMs, limit);
        expect(outcomes.length).toBeLessThanOrEqual(limit);
        found.push(...outcomes.map(({ place }) => place));
        if (isLast) return found;
        position = outcomes.at(-1)?.position ?? 'only the last page may be empty';
      }
      throw new Error('the pages have no end');
    }

    test('lists outcomes between two times, the first inclusive and the second exclusive', async () => {
      const { dayMs, places } = await succeedAt([0, 1_000, 1_001, DAY_MS - 1, DAY_MS]);
      const [one, second, third, fourth, fifth] = places;
      expect(await pagesOf(dayMs, dayMs + 1_001, 10)).toEqual([one, second]);
      expect(await pagesOf(dayMs + 1_000, dayMs + DAY_MS, 10)).toEqual([second, third, fourth]);
      expect(await pagesOf(dayMs + 2_000, dayMs + DAY_MS + 1, 10)).toEqual([fourth, fifth]);
      expect(await pagesOf(dayMs + 1, dayMs + 1_000, 10)).toEqual([]);
      expect(await pagesOf(dayMs + 1_000, dayMs + 1_000, 10)).toEqual([]);
      expect(await pagesOf(dayMs + 1_000, dayMs, 10)).toEqual([]);
    });

    test.each(sliceOf([1, 3, 20, 100], 2))(
      'lists each outcome once, in chronological order, in pages of %i',
      async (limit) => {
        // Up to three outcomes have the same millisecond. The second day has no outcome.
        const offsets = Array.from(
          { length: 40 },
          (_, index) => Math.floor(index / 3) * (index < 30 ? 1_000 : DAY_MS / 4),
        );
        const { dayMs, places } = await succeedAt(offsets);
        const found = await pagesOf(dayMs, dayMs + 10 * DAY_MS, limit);
        expect(found).toHaveLength(40);
        const timesOf = found.map((place) => offsets[places.findIndex((each) => sameAs(each, place))]);
        expect(timesOf).toEqual(offsets.toSorted((left, right) => left - right));
        expect(new Set(found.map((place) => JSON.stringify(place))).size).toBe(40);
      },
    );

    test('refuses to list more than 31 days', async () => {
      await expect(reader.outcomesAfter(positionAt(0), 32 * DAY_MS, 10)).rejects.toThrow('longer than 31 days');
    });
  });
}

function sameAs(left: OutcomePlace, right: OutcomePlace): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
