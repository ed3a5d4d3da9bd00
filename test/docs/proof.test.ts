import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { FINDINGS, proofPage } from '../../docs/generate/proof.ts';
import { readHuntRows } from '../world/mutants/hunt-rows.ts';
import { MUTANTS } from '../world/mutants/mutants.ts';

const PAGE = readFileSync(new URL('../../docs/proof/planted-faults.md', import.meta.url), 'utf8');

test('docs/proof/planted-faults.md is current (to update it: npm run docs:tables)', () => {
  expect(PAGE).toBe(proofPage(PAGE));
});

test('docs/proof/mutants.json has a result for each mutant, and no other results', () => {
  expect(readHuntRows().map(({ mutant }) => mutant)).toEqual(MUTANTS.map(({ name }) => name));
  expect(readHuntRows().filter(({ random, story }) => random === undefined && story === undefined)).toEqual([]);
});

test('each finding names an existing test, and an existing story if it names one', () => {
  const numbers = Array.from({ length: 16 }, (_, index) => `B${String(index + 1).padStart(2, '0')}`);
  expect(FINDINGS.map(({ finding }) => finding)).toEqual(numbers);
  expect(MUTANTS.flatMap(({ finding = 'B01' }) => finding).filter((finding) => !numbers.includes(finding))).toEqual([]);
  for (const { test: named, story } of FINDINGS) {
    const [file = '', name = ''] = named.split(' › ');
    expect(readFileSync(file, 'utf8').replaceAll(/\\'/g, "'")).toContain(name);
    if (story !== undefined) expect(existsSync(`test/world/stories/${story}.json`)).toBe(true);
  }
});
