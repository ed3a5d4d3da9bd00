import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { comparisonPage } from '../../bench/compare/comparison-page.ts';
import type { History } from '../../bench/compare/kill-test.ts';
import { type CpuProfile, sharesOf } from '../../bench/profile.ts';
import { isMet, type Measured, missesOf, type Result, resultsOf, resultsTable } from '../../bench/results.ts';

const ratio = (subject: string, value: number) => ({
  subject,
  timeRatio: value,
  cpuRatio: value,
  emulatorRatio: value,
});

const authorityCost = (program: string, value: number) => ({
  program,
  statements: value,
  calls: value,
  cpuRatio: value,
  timeRatio: value,
  throughputRatio: value,
});

const OWNERS = { 'AWS SDK': 1, Payonce: 1, zod: 1, Powertools: 1, 'other packages': 1 };
const SHARES = sharesOf({ nodes: [], samples: [], timeDeltas: [] }, () => undefined);

const measured = (value: number): Measured => ({
  throughput: [ratio('naive', value), ratio('Powertools', value)],
  authority: {
    dynamodb: authorityCost('Payonce, DynamoDB', value),
    postgres: authorityCost('Payonce, PostgreSQL', value),
    rocketRides: authorityCost('rocket-rides', value),
    duplicateMs: value,
    coldReplay: { cached: { statements: 0, calls: 1 }, uncached: { statements: 1, calls: 0 } },
  },
  refund: { calls: value, readUnits: value },
  listCalls: value,
  weight: { kilobytes: new Map([['payments', value]]), files: value, owners: OWNERS },
  start: {
    importToBareClient: value,
    importToPowertools: value,
    powertoolsToBareClient: value,
    firstToPowertools: value,
    importShare: value,
  },
  warm: { toNaive: value, toPowertools: value, powertoolsToNaive: value, payment: value },
  profiles: { import: SHARES, payments: SHARES, projector: SHARES },
  eventCpu: { relay: value, projector: value, fanOut: value, sender: value },
});

test('the results have a finite value and a goal for each metric, and all metric names differ', () => {
  const results = resultsOf(measured(2));
  expect(new Set(results.map(({ metric }) => metric)).size).toBe(results.length);
  for (const { value, goal } of results) expect([value, goal].every(Number.isFinite)).toBe(true);
});

test('the page gives a cause for each missed goal, and for no other goal', () => {
  const causes = (text: string): number => text.split('\n').filter((line) => line.startsWith('- **')).length;
  expect(causes(missesOf(measured(0.5)))).toBe(0);
  const missed = missesOf(measured(1_000));
  expect(causes(missed)).toBe(resultsOf(measured(1_000)).length);
  expect(missed).not.toMatch(/\*\*: $/m);
});

const ROOT = resolve(import.meta.dirname, '..', '..');
const PAGE = readFileSync(join(ROOT, 'docs', 'proof', 'benchmarks.md'), 'utf8');
const RESULTS = JSON.parse(readFileSync(join(ROOT, 'bench', 'results.json'), 'utf8')) as readonly Result[];

test('bench/results.json has each measured metric, with its goal and unit', () => {
  const goals = (results: readonly Result[]) => results.map(({ metric, goal, unit }) => ({ metric, goal, unit }));
  expect(goals(RESULTS)).toEqual(goals(resultsOf(measured(2))));
  expect(RESULTS.map(({ metric }) => metric)).toEqual(
    expect.arrayContaining([
      'CPU time of the import of the payments function',
      'CPU time of the import and the first payment',
      'CPU time of a payment, engine alone',
      'CPU time of a payment, whole handler',
      'throughput, 32 payments in flight',
      'DynamoDB calls of the 400th refund of a payment',
      'read units of the 400th refund of a payment',
      'DynamoDB calls of a page of a list, any filters',
      'events that the projector handles',
      'files read at the start of the payments function',
      'code read at the start of the payments function',
    ]),
  );
});

test('the table of goals in docs/proof/benchmarks.md shows bench/results.json, and the page gives a cause for each missed goal', () => {
  const [, goals = ''] = PAGE.split(/^## /m);
  expect(goals).toContain(`\n\n${resultsTable(RESULTS)}\n\n`);
  const explained = [...goals.matchAll(/^- \*\*(.+)\*\*: /gm)].map(([, metric]) => metric);
  expect(explained).toEqual(RESULTS.filter((each) => !isMet(each)).map(({ metric }) => metric));
});

test('the comparison counts the histories with more or fewer than one charge, response, event or effect', () => {
  const history = (charges: number, answers: number): History => ({
    trouble: 'kill',
    call: 1,
    side: 'after',
    charges,
    answers,
    events: 1,
    effects: 1,
  });
  const histories = [history(1, 1), history(2, 0), history(1, 1)];
  const page = comparisonPage({ trials: [{ name: 'naive', cpuMs: 2, writes: 3, histories }], units: new Map() });
  expect(page).toContain('| naive | 3 | 1 to 2 (1 wrong) | 0 to 1 (1 wrong) | 1 | 1 |');
});

test('the profile attributes the time of each sample to the package that owns the code', () => {
  const frame = (id: number, functionName: string, url: string): CpuProfile['nodes'][number] => ({
    id,
    callFrame: { functionName, url, lineNumber: 0, columnNumber: id },
  });
  const sources: Readonly<Record<number, string>> = {
    1: '../node_modules/@smithy/core/index.js',
    2: '../lambdas/payments/use/create-payment.ts',
    3: '../node_modules/hono/router.js',
  };
  const nodes = [1, 2, 3].map((id) => frame(id, 'run', 'file:///index.mjs'));
  const profile = {
    nodes: [
      ...nodes,
      frame(4, '(garbage collector)', ''),
      frame(5, 'emit', 'node:events'),
      frame(6, '(idle)', ''),
      frame(7, 'compileSourceTextModule', 'node:internal/modules/esm/utils'),
    ],
    samples: [1, 2, 3, 4, 5, 6, 1, 7],
    timeDeltas: [10, 10, 20, 20, 10, 999, 20, 10],
  };
  expect(sharesOf(profile, ({ columnNumber }) => sources[columnNumber])).toEqual({
    'AWS SDK': 0.3,
    Payonce: 0.1,
    zod: 0,
    Powertools: 0,
    'other packages': 0.2,
    'Node.js': 0.1,
    compilation: 0.1,
    V8: 0.2,
  });
});
