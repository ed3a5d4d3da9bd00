import { expect, test } from '@jest/globals';
import stored from '../../lib/cost/counted-paths.json' with { type: 'json' };
import { countPaths } from './bench-counted-paths.ts';

test('lib/cost/counted-paths.json is up to date: if not, run npm run docs:tables', async () => {
  expect(await countPaths()).toEqual(stored);
});

test('a run of a job without items costs at most 15 write units', () => {
  expect(stored.run.writeUnits).toBeLessThanOrEqual(15);
});
