import { expect, test } from '@jest/globals';
import { defined } from '../../lambdas/kernel/defined.ts';

test('defined omits exactly the fields that are undefined', () => {
  const fields = { none: undefined, empty: '', zero: 0, no: false, nothing: null };
  const kept = defined(fields);
  expect(kept).toEqual({ empty: '', zero: 0, no: false, nothing: null });
  expect(Object.keys(kept)).not.toContain('none');
});
