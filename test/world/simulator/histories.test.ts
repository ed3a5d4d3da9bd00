import { expect, test } from '@jest/globals';
import { generate } from './generate.ts';
import { play } from './play.ts';
import { PROFILES } from './profiles.ts';

/** Of each profile. `npm run prove` plays fresh seeds for minutes. */
const HISTORIES = 4;

test.each(Object.keys(PROFILES))('random histories of the profile %s violate no oracle', async (profile) => {
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const { violations } = await play(generate(seed, profile));
    const again = `payonce simulate --profile ${profile} --seed ${seed} --histories 1`;
    expect({ again, violations }).toEqual({ again, violations: [] });
  }
});
