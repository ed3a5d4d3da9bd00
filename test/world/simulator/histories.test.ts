import { expect, test } from '@jest/globals';
import { sliceOf } from '../../support/slice.ts';
import { countCells, reachedBy, reachedUnreachableCells } from './coverage.ts';
import { generate } from './generate.ts';
import { play } from './play.ts';
import { PROFILES } from './profiles.ts';

/** In addition, `npm run prove` plays new seeds for some minutes. */
const SEEDS = Array.from({ length: 40 }, (_, index) => index + 1);

/** 13 slices: 13 and the number of seeds share no factor, so successive runs combine each profile with each seed. */
test.each(sliceOf(Object.keys(PROFILES), 13))(
  'random histories of the profile %s violate no oracle',
  async (profile) => {
    for (const seed of sliceOf(SEEDS, 40)) {
      const history = generate(seed, profile);
      const cells = countCells();
      const { system, ends, violations } = await play(history);
      const again = `payonce simulate --profile ${profile} --seed ${seed} --histories 1`;
      const all = [...violations, ...reachedUnreachableCells(reachedBy(system, history, { cells, ends }))];
      expect({ again, violations: all }).toEqual({ again, violations: [] });
    }
  },
);

test('reconciliation reports a refund without a callback, even among several pages of another program’s charges', async () => {
  const { violations } = await play({
    seed: 1_796_884_699,
    profile: 'floods',
    steps: [
      { ...at(0), id: 1, actor: 'bank', act: 'habits', processor: 'sandbox', lost: 1, doubled: 0, late: 0, slow: 0 },
      { ...at(0), id: 2, actor: 'client', act: 'pay', tenant: 'shop', amount: 1000, source: 'tok_ok', copies: 1 },
      { ...at(2_000), id: 3, actor: 'dashboard', act: 'flood', of: 2, count: 1 },
      { ...at(3_000), id: 4, actor: 'dashboard', act: 'foreign_charges', of: 2, count: 100 },
    ],
    muted: [],
  });
  expect(violations).toEqual([]);
});

function at(atMs: number) {
  return { atMs, currency: 'EUR', capture: 'automatic', lateMs: 0 };
}
