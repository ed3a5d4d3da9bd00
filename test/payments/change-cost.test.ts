import { describe, expect, test } from '@jest/globals';
import { isRead, unitsOf } from '../support/counted-client.ts';
import { whole } from '../support/slice.ts';
import { CountedChanges } from './counted-changes.ts';

const KILOBYTE = 1_024;

const SIZES = whole([1, 10, 100, 500], { slice: [1, 5, 25] });
/** Numbers of refunds with which a chain has 10, 100 and 1,000 transitions; in a slice, 10 and 40. */
const LENGTHS = whole([4, 49, 499], { slice: [4, 19] });

describe.each([
  ['with reasons', { reason: 'Returned by the customer' }],
  ['without reasons', {}],
])('a refund of a payment with many refunds, %s,', (_name, reasoned) => {
  test('makes at most 3 calls and uses at most 4 read units before its send, and no row exceeds a kilobyte', async () => {
    const changes = new CountedChanges();
    await changes.world.pay(changes.request);
    for (let number = 1; number <= Math.max(...SIZES); number += 1) {
      const { outcome, before, calls } = await changes.make({ kind: 'refund', amountMinor: 1_111, ...reasoned });
      expect(outcome).toMatchObject({ kind: 'first', answer: { status: 201 } });
      if (!SIZES.includes(number)) continue;
      expect(before.length).toBeLessThanOrEqual(3);
      expect(unitsOf(before.filter(isRead))).toBeLessThanOrEqual(4);
      // Nothing is read after the refund was sent.
      expect(calls.filter(isRead)).toEqual(before.filter(isRead));
    }
    expect(Math.max(...changes.rowSizes())).toBeLessThanOrEqual(KILOBYTE);
  });
});

test('the numbers of calls that read a chain or its timeline grow at most linearly with its number of transitions', async () => {
  const changes = new CountedChanges();
  await changes.world.pay(changes.request);
  const found: Awaited<ReturnType<CountedChanges['readingCalls']>>[] = [];
  for (let number = 1; number <= Math.max(...LENGTHS); number += 1) {
    await changes.make({ kind: 'refund', amountMinor: 1_111, reason: 'Returned by the customer' });
    if (LENGTHS.includes(number)) found.push(await changes.readingCalls());
  }
  expect(found.map(({ transitions }) => transitions)).toEqual(LENGTHS.map((refunds) => 2 + 2 * refunds));
  for (const { transitions, fold, timeline } of found) {
    expect(fold).toBeLessThanOrEqual(transitions + Math.ceil((transitions + 1) / 250));
    expect(timeline).toBeLessThanOrEqual(4 * transitions);
  }
});
