import { expect, test } from '@jest/globals';
import { loadedOnce } from '../../lambdas/kernel/loaded-once.ts';

test('a value is loaded once, and a failure is not cached', async () => {
  let loads = 0;
  const load = loadedOnce(async () => {
    loads += 1;
    if (loads === 1) throw new Error('away');
    return loads;
  });

  await expect(Promise.all([load(), load()])).rejects.toThrow('away');
  expect(loads).toBe(1);
  expect(await Promise.all([load(), load()])).toEqual([2, 2]);
  expect(await load()).toBe(2);
});
