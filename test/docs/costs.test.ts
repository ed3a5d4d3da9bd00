import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { costsPage, fillCosts, type Synthesize } from '../../docs/generate/costs.ts';
import { idleBill, pathsFor, type StackTemplate } from '../../lib/cost/bill.ts';
import { logsOf } from '../../lib/cost/paths.ts';
import { linesOf, totalOf, type Usage } from '../../lib/cost/prices.ts';
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

test('an idle deployment without options costs at most 12 USD a month, and the paths what docs/costs.md promises', async () => {
  const templates = await synthesized({ 'payonce:sandbox': 'false' });
  expect(totalOf(idleBill(templates))).toBeLessThanOrEqual(12);
  const { payment, callback, event, eventAlone, webhook, webhookUnderLoad, reconciling } = pathsFor(templates);
  const perMillion = ({ usage }: { readonly usage: Usage }): number => totalOf(linesOf(usage, 1_000_000));
  expect(perMillion(payment)).toBeLessThanOrEqual(14);
  expect(perMillion(event)).toBeLessThanOrEqual(10);
  expect(perMillion(eventAlone)).toBeLessThanOrEqual(10);
  expect(perMillion(webhookUnderLoad)).toBeLessThanOrEqual(6);
  const logs = [payment, callback, event, webhookUnderLoad].map((path) => totalOf(linesOf(logsOf(path), 1_000_000)));
  expect(logs.reduce((sum, usd) => sum + usd, perMillion(reconciling))).toBeLessThanOrEqual(6);
  // Of these, 0.30 for the groups of the queue, which keep tenants apart.
  expect(perMillion(webhook)).toBeLessThanOrEqual(6.3);
});
