import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { costsPage, fillCosts, type Synthesize } from '../../docs/generate/costs.ts';
import type { StackTemplate } from '../../lib/cost/bill.ts';
import { synthesize } from '../support/synth.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const synthesized: Synthesize = async (context) =>
  Object.values(await synthesize(context)).flatMap((template) =>
    template === undefined ? [] : [template.toJSON() as unknown as StackTemplate],
  );

test('docs/costs.md is up to date: if not, run npm run docs:tables', async () => {
  expect(read('docs/costs.md')).toBe(await costsPage(synthesized));
});

test('the README has the figures of docs/costs.md', async () => {
  expect(read('README.md')).toBe(await fillCosts(read('README.md'), synthesized));
});
