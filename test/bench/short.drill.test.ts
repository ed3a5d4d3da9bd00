import { expect, test } from '@jest/globals';
import { measure } from '../../bench/measure.ts';
import { SHORT } from '../../bench/speed.ts';
import { createTables, localAws } from '../support/local-aws.ts';

test('the short benchmark measures every table of docs/proof/benchmarks.md', async () => {
  const aws = { ...localAws(), tables: await createTables('short-bench') };
  const page = await measure(aws, { size: SHORT, progress: () => undefined });
  expect(page).toContain('| first execution | first 201 | 2 | 2 | 11 |');
  expect(page).not.toMatch(/NaN|undefined|Infinity/);
});
