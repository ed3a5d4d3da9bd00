import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sliceOf } from '../../support/slice.ts';
import { countCells, reachedBy, reachedUnreachableCells } from './coverage.ts';
import { generate } from './generate.ts';
import { play } from './play.ts';
import { SimulatedPostgres } from './postgres.ts';
import { PROFILES } from './profiles.ts';

const SEEDS = Array.from({ length: 10 }, (_, index) => index + 1);

let postgres: SimulatedPostgres;
beforeAll(async () => {
  postgres = await SimulatedPostgres.create();
});
afterAll(() => postgres.close());

/** 17 slices: 17 and the number of seeds share no factor, so successive runs combine each profile with each seed. */
test.each(sliceOf(Object.keys(PROFILES), 17))(
  'random histories of the profile %s violate no oracle if PostgreSQL is the authority',
  async (profile) => {
    for (const seed of sliceOf(SEEDS, 10)) {
      const history = generate(seed, profile);
      const cells = countCells();
      const { system, ends, violations } = await play(history, postgres);
      const again = `payonce simulate --authority postgres --profile ${profile} --seed ${seed} --histories 1`;
      const all = [...violations, ...reachedUnreachableCells(reachedBy(system, history, { cells, ends }))];
      expect({ again, violations: all }).toEqual({ again, violations: [] });
    }
  },
);
