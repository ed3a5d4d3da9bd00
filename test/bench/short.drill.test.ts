import { expect, test } from '@jest/globals';
import { measure } from '../../bench/measure.ts';
import { SHORT } from '../../bench/speed.ts';
import { localAws } from '../support/local-aws.ts';

test('the short benchmark fills every table of docs/proof/benchmarks.md and produces every result', async () => {
  const { page, results } = await measure(localAws(), { size: SHORT, progress: () => undefined });
  expect(page).toContain('| first execution | first 201 | 2 | 2 | 11 |');
  expect(page).not.toMatch(/NaN|undefined|Infinity/);
  expect(results.filter(({ value }) => !Number.isFinite(value))).toEqual([]);
});
