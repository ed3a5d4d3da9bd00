import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';
import { ensurePython } from '../../local/python-environment.ts';

const run = promisify(execFile);
const QUEUE = 'http://localhost:4566/000000000000/Tasks';
const API = 'http://127.0.0.1:4566/restapis/a1/live/_user_request_/callbacks';

const LOADED = `
import json, sys
import saved_addresses
print(json.dumps(saved_addresses.with_port(json.loads(sys.argv[1]), '9000')))
`;

async function loadedOnPort9000(state: unknown): Promise<unknown> {
  const command = ['-B', '-c', LOADED, JSON.stringify(state)];
  const { stdout } = await run(await ensurePython(), command, { cwd: join(PROJECT, 'local') });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

test('when a saved state is loaded, its URLs get the port of the run, and other data stays unchanged', async () => {
  const state = {
    [QUEUE]: { url: QUEUE, messages: [{ body: QUEUE }] },
    environment: { CALLBACKS: API, TARGET: 'http://127.0.0.1:8787', ENDPOINT: 'http://localhost:4566' },
    outputs: [{ value: `see ${QUEUE}, ${API}` }, 5, null],
  };
  const [queue, api] = [QUEUE, API].map((address) => address.replace('4566', '9000'));
  expect(await loadedOnPort9000(state)).toEqual({
    [queue ?? '']: { url: queue, messages: [{ body: QUEUE }] },
    environment: { CALLBACKS: api, TARGET: 'http://127.0.0.1:8787', ENDPOINT: 'http://localhost:4566' },
    outputs: [{ value: `see ${queue}, ${api}` }, 5, null],
  });
});
