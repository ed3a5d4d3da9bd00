/** Runs the tests on both local AWS at the same time. What both need is made once before: the emulator and one assembly. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { concurrently } from 'concurrently';
import { synthesizeForLocalAws } from '../../local/cdk.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { ASSEMBLY } from '../support/global-setup.ts';

new Command('npm run test:aws').description('Runs the tests on two local AWS that it starts, concurrently.').parse();
console.log('Python environment');
await ensurePython();
const directory = mkdtempSync(join(tmpdir(), 'payonce-assembly-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
console.log('Assembly');
const { command: assembly = '' } = await synthesizeForLocalAws(directory);
const scripts = ['test:stores', 'test:deployed'];
const { result } = concurrently(
  scripts.map((name) => ({ name, command: `npm run ${name}`, env: { [ASSEMBLY]: assembly } })),
);
process.exitCode = await result.then(
  () => 0,
  () => 1,
);
