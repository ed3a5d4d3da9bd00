import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';
import { startBusyLoops } from '../support/busy-loops.ts';

const directory = mkdtempSync(join(tmpdir(), 'payonce-first-request-'));
const run = promisify(execFile);
const local = (script: string, ...words: readonly string[]) =>
  run(process.execPath, ['local/launch.mjs', `local/${script}`, '--directory', directory, ...words], { cwd: PROJECT });

const loops = startBusyLoops();
afterAll(async () => {
  loops.stop();
  await local('stop.ts');
  rmSync(directory, { recursive: true, force: true });
});

test('while a program keeps each core busy, the first attempt of the printed request gets a 201', async () => {
  const { stdout } = await local('start.ts', '--detach', '--port', '15066');
  expect(stdout).toMatch(/^Ready after [\d.]+ s: Python environment [\d.]+ s, .+First requests [\d.]+ s\.$/m);
  const [line = ''] = /^curl .*$/m.exec(stdout) ?? [];
  const first = await run('sh', ['-c', line]);
  expect(first.stdout).toMatch(/^HTTP\/1\.1 201 /);
  expect((await run('sh', ['-c', line])).stdout).toMatch(/^Idempotency-Replayed: true/im);
});
