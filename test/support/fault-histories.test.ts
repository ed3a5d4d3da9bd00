import { expect, test } from '@jest/globals';
import { surveyFaults } from './fault-histories.ts';
import { sliceOf } from './slice.ts';

test('nested slices together run every case exactly once if their divisors have no common factor', () => {
  const cases = Array.from({ length: 20 }, (_, index) => index);
  const withOneMore = (first: number) => cases.map((second) => `${first} ${second}`);
  const played = Array.from({ length: 7 * 11 }, (_, slice) => {
    const run = { slice, proving: false };
    return sliceOf(sliceOf(cases, 7, run).flatMap(withOneMore), 11, run);
  });
  expect(played.flat().toSorted()).toEqual(cases.flatMap(withOneMore).toSorted());
});

test.each<[number | readonly number[]]>([[[3, 9]], [[1, 10]], [5]])(
  'the divisors %j are refused: two of them, or one of them and the number of fault kinds, have a common factor',
  async (oneOf) => {
    const survey = surveyFaults(async () => ({ calls: [], violations: [] }), { faults: 1, oneOf });
    await expect(survey).rejects.toThrow('have a common factor');
  },
);
