import { expect, test } from '@jest/globals';
import { countCells, impossible, reachedBy } from './coverage.ts';
import { generate } from './generate.ts';
import { play } from './play.ts';
import { PROFILES } from './profiles.ts';

/** Of each profile. `npm run prove` plays fresh seeds for minutes. */
const HISTORIES = 4;

const cells = countCells();

test.each(Object.keys(PROFILES))('random histories of the profile %s violate no oracle', async (profile) => {
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const history = generate(seed, profile);
    const { system, ends, violations } = await play(history);
    const again = `payonce simulate --profile ${profile} --seed ${seed} --histories 1`;
    const all = [...violations, ...impossible(reachedBy(system, history, { cells, ends }))];
    expect({ again, violations: all }).toEqual({ again, violations: [] });
  }
});
