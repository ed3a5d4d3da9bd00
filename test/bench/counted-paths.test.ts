/** Tests the guarantee "bounded cost". */
import { expect, test } from '@jest/globals';
import stored from '../../lib/cost/counted-paths.json' with { type: 'json' };
import { inTurn } from '../support/slice.ts';
import { countPaths } from './bench-counted-paths.ts';
import { reconcilingOfMonth } from './bench-reconcile.ts';

const reconciled = inTurn(reconcilingOfMonth, { place: 2, of: 4, otherwise: async () => stored.reconciling });

test('lib/cost/counted-paths.json is current (to update it: npm run docs:tables)', async () => {
  expect(await countPaths(reconciled)).toEqual(stored);
});

test('a job run without items costs at most 15 write units', () => {
  expect(stored.run.writeUnits).toBeLessThanOrEqual(15);
});
