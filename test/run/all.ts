/**
 * Implements `npm test`: all checks, and the selected test files (turns.ts) with a slice of their enumerations. Two
 * lanes run concurrently: steps that mostly wait for a local AWS, and CPU-bound steps. More concurrent processes than
 * cores would take more CPU time in all. The deployed tests use the assembly that the template rules have checked.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import pMap from 'p-map';
import { synthesizeForLocalAws } from '../../local/cdk.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { COSTS, costliestFiles } from '../support/costs.ts';
import { ASSEMBLY } from '../support/global-setup.ts';
import { SLICE } from '../support/slice.ts';
import { PROGRESS_REPORTER, StepRun } from './steps.ts';
import { sliceOfTree } from './tree-slice.ts';
import { CHANGED_ROOMS, changedRooms } from './turns.ts';

new Command('npm test')
  .description('Runs all checks, and the tests with a slice of their enumerations; costly files take turns.')
  .parse();
const slice = process.env[SLICE] ?? String(await sliceOfTree());
const directory = mkdtempSync(join(tmpdir(), 'payonce-suites-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
const costs = join(directory, 'costs.jsonl');

const changed = process.env[CHANGED_ROOMS] ?? (await changedRooms())?.join(',');
const selection = { [SLICE]: slice, ...(changed === undefined ? {} : { [CHANGED_ROOMS]: changed }) };
const variables = Object.entries(selection).map(([name, value]) => `${name}=${value} `);
console.log(`To repeat this run: ${variables.join('')}npm test`);
if (changed !== undefined) console.log('Costly test files of unchanged rooms take turns (CONTRIBUTING.md).');
const run = new StepRun({ ...selection, [COSTS]: costs, PAYONCE_TOGETHER: '1' });

async function checksAndRooms(): Promise<void> {
  const check = (name: string) => run.run({ name, script: [name], yields: true });
  await pMap(['lint', 'boundaries', 'types', 'dead', 'words', 'format'], check, { concurrency: 1 });
  await run.run({ name: 'rooms', script: ['test:unit', PROGRESS_REPORTER], yields: true });
}

async function onLocalAws(): Promise<void> {
  const assembly = join(directory, 'assembly');
  const python = run.work('Python environment', ensurePython);
  const made = await run.work('assembly and rules', () => synthesizeForLocalAws(assembly, { withRules: true }));
  if ((await python) === undefined) {
    for (const suite of ['stores', 'deployed']) run.skip(suite, 'not run, because there is no Python environment');
    return;
  }
  const environment: Record<string, string> = made === undefined ? {} : { [ASSEMBLY]: assembly };
  if (made === undefined) run.skip('deployed', 'not run, because there is no assembly');
  else await run.run({ name: 'deployed', script: ['test:deployed', PROGRESS_REPORTER], environment });
  await run.run({ name: 'stores', script: ['test:stores', PROGRESS_REPORTER], environment });
}

await Promise.all([onLocalAws(), checksAndRooms()]);
console.log(`\n${costliestFiles(costs, 10).join('\n')}`);
run.summary();
process.exitCode = run.hasFailed ? 1 : 0;
