/** Tests the guarantee "bounded cost". */
import { expect, test } from '@jest/globals';
import stored from '../../lib/cost/counted-paths.json' with { type: 'json' };
import { countPaths } from './bench-counted-paths.ts';

test('lib/cost/counted-paths.json is current (to update it: npm run docs:tables)', async () => {
  expect(await countPaths()).toEqual(stored);
});

test('a job run without items costs at most 15 write units', () => {
  expect(stored.run.writeUnits).toBeLessThanOrEqual(15);
});
