/**
 * `npm test`: all checks, and all tests with a slice of their enumerations. What computes and what waits run beside each other. The local
 * AWS of the deployed tests gets the assembly that the rules for templates were applied to.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { synthesizeForLocalAws } from '../../local/cdk.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { COSTS, dearestFiles } from '../support/costs.ts';
import { ASSEMBLY } from '../support/global-setup.ts';
import { SLICE } from '../support/slice.ts';
import { StepRun } from './steps.ts';
import { sliceOfTree } from './tree-slice.ts';

new Command('npm test').description('Runs all checks, and all tests with a slice of their enumerations.').parse();
const slice = process.env[SLICE] ?? String(await sliceOfTree());
const directory = mkdtempSync(join(tmpdir(), 'payonce-suites-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
const costs = join(directory, 'costs.jsonl');
const reporter = '--reporters=<rootDir>/test/run/progress-reporter.js';

console.log(`Slice ${slice}: ${SLICE}=${slice} npm test repeats it.`);
const run = new StepRun({ [SLICE]: slice, [COSTS]: costs, PAYONCE_TOGETHER: '1' });

async function checks(): Promise<void> {
  for (const script of ['lint', 'types', 'boundaries', 'dead', 'format'])
    await run.run({ name: script, script: [script], yields: true });
}

async function onLocalAws(): Promise<void> {
  const assembly = join(directory, 'assembly');
  const python = run.work('Python environment', ensurePython);
  const made = await run.work('assembly and rules', () => synthesizeForLocalAws(assembly, { withRules: true }));
  if ((await python) === undefined) return;
  const stores = run.run({ name: 'stores', script: ['test:stores', reporter], yields: true });
  if (made !== undefined)
    await run.run({ name: 'deployed', script: ['test:deployed', reporter], environment: { [ASSEMBLY]: assembly } });
  await stores;
}

await Promise.all([onLocalAws(), checks(), run.run({ name: 'rooms', script: ['test:unit', reporter], yields: true })]);
console.log(`\n${dearestFiles(costs, 10).join('\n')}`);
run.summary();
process.exitCode = run.hasFailed ? 1 : 0;
