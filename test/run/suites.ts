/**
 * Runs suites at the same time: the deployed tests wait for schedules and retries, and the others work meanwhile. What each local AWS
 * needs is made once before: the emulator and one assembly.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { concurrently } from 'concurrently';
import { synthesizeForLocalAws } from '../../local/cdk.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { ASSEMBLY } from '../support/global-setup.ts';

/** The unit tests take every core, because the others often wait. The deployed tests wait most: halves of them wait at the same time. */
const COMMANDS = {
  unit: ['npm run test:unit'],
  stores: ['npm run test:stores'],
  deployed: ['npm run test:deployed -- --shard=1/2', 'npm run test:deployed -- --shard=2/2'],
} as const;
type Suite = keyof typeof COMMANDS;

const suites = new Command('npm run test:suites')
  .description('Runs suites of tests at the same time, those of the local AWS on three that it starts.')
  .addArgument(new Argument('<suite...>', 'the suites').choices(Object.keys(COMMANDS)))
  .parse().args as readonly Suite[];
console.log('Python environment');
await ensurePython();
const directory = mkdtempSync(join(tmpdir(), 'payonce-assembly-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
console.log('Assembly');
const { command: assembly = '' } = await synthesizeForLocalAws(directory);
const { result } = concurrently(
  suites.flatMap((name) =>
    COMMANDS[name].map((command) => ({ name: `test:${name}`, command, env: { [ASSEMBLY]: assembly } })),
  ),
);
process.exitCode = await result.then(
  () => 0,
  () => 1,
);
