import { expect, test } from '@jest/globals';
import { sliceOf } from '../../support/slice.ts';
import { countCells, impossible, reachedBy } from './coverage.ts';
import { generate } from './generate.ts';
import { play } from './play.ts';
import { PROFILES } from './profiles.ts';

/** The seeds of each profile. `npm run prove` plays fresh ones for minutes beside them. */
const SEEDS = Array.from({ length: 40 }, (_, index) => index + 1);

/** Three has no factor in common with the number of seeds, so that each profile meets each seed. */
test.each(sliceOf(Object.keys(PROFILES), 3))(
  'random histories of the profile %s violate no oracle',
  async (profile) => {
    for (const seed of sliceOf(SEEDS, 40)) {
      const history = generate(seed, profile);
      const cells = countCells();
      const { system, ends, violations } = await play(history);
      const again = `payonce simulate --profile ${profile} --seed ${seed} --histories 1`;
      const all = [...violations, ...impossible(reachedBy(system, history, { cells, ends }))];
      expect({ again, violations: all }).toEqual({ again, violations: [] });
    }
  },
);
