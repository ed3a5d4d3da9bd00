import { expect, test } from '@jest/globals';
import { pairwise } from './pairwise.ts';

test('pairwise covers every pair of values with few rows', () => {
  const rows = pairwise({ a: ['1', '2', '3'], b: ['1', '2'], c: ['1', '2'], d: ['1', '2'] });
  const has = (wanted: Record<string, string>) =>
    rows.some((row) => Object.entries(wanted).every(([name, value]) => row[name] === value));
  for (const one of ['1', '2', '3']) for (const other of ['1', '2']) expect(has({ a: one, d: other })).toBe(true);
  for (const one of ['1', '2']) for (const other of ['1', '2']) expect(has({ b: one, c: other })).toBe(true);
  expect(rows.length).toBeLessThan(10);
});
