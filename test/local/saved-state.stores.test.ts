import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';
import { ensurePython } from '../../local/python-environment.ts';

const KILLED = 9;
const END = `
import os, sys
import saved_state
from ministack import app
saved_state.install()
resources = {"kill": lambda: os._exit(${KILLED}), "fail": lambda: {}["absent"], "save": lambda: {"version": 2}}[sys.argv[1]]
app.save_all({"cloudformation": lambda: {"version": 2}, "iam": resources})
`;

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-state-'));
  for (const service of ['cloudformation', 'iam'])
    writeFileSync(join(directory, `${service}.json`), '{"payload":{"version":1}}');
});
afterEach(() => {
  for (const path of [directory, `${directory}.partial`]) rmSync(path, { recursive: true, force: true });
});

/** Saves as the emulator does when it ends. @returns the versions of the saved state */
async function end(how: 'kill' | 'fail' | 'save'): Promise<readonly number[]> {
  const env = { ...process.env, STATE_DIR: directory, PERSIST_STATE: '1', KEEP_STATE: '1' };
  const options = { cwd: join(PROJECT, 'local'), env };
  const code = await promisify(execFile)(await ensurePython(), ['-B', '-c', END, how], options).then(
    () => 0,
    (error: { readonly code?: unknown }) => error.code,
  );
  expect(code).toBe(how === 'kill' ? KILLED : 0);
  return ['cloudformation', 'iam'].map((service) => {
    const text = readFileSync(join(directory, `${service}.json`), 'utf8');
    return (JSON.parse(text) as { readonly payload: { readonly version: number } }).payload.version;
  });
}

describe('the saved state of the local AWS', () => {
  test('is updated when the emulator ends', async () => {
    expect(await end('save')).toEqual([2, 2]);
  });

  test('is unchanged in all services if the emulator is killed while saving', async () => {
    expect(await end('kill')).toEqual([1, 1]);
  });

  test('is unchanged in all services if one of them cannot be saved', async () => {
    expect(await end('fail')).toEqual([1, 1]);
  });
});
