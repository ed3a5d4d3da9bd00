import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { ExitCode } from '../../cli/failure.ts';
import { payonceProgram } from '../../cli/program.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { StateFile } from '../../local/state-file.ts';
import { NO_PROCESS } from './no-process.ts';

const RUNNING: LocalAws = {
  awsEndpoint: 'http://127.0.0.1:1',
  accessKeyId: 'PAYONCE',
  region: 'us-east-1',
  apiUrl: 'http://127.0.0.1:1/api',
  sandboxUrl: 'http://127.0.0.1:1/sandbox',
  sandboxSecret: 'secret',
  tenantId: 'ten_a',
  apiKey: 'sk_test_a',
  operatorKey: 'ok_b',
  tables: { idempotency: 'I', ledger: 'L', registry: 'R', views: 'V' },
  paymentsFunction: 'Payments',
  callbacksFunction: 'Callbacks',
  paymentJobsFunction: 'PaymentJobs',
  ordersFunction: 'orders',
  keeperPid: NO_PROCESS,
};

let directory = '';
let state: StateFile;
let child: ChildProcess | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-state-'));
  state = new StateFile(directory);
});

afterEach(async () => {
  if (child !== undefined) {
    child.kill('SIGKILL');
    await once(child, 'exit');
    child = undefined;
  }
  rmSync(directory, { recursive: true, force: true });
});

function processNamed(name: string): number {
  child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)', name], { detached: true });
  return child.pid ?? 0;
}

describe('the state file of a local AWS', () => {
  test('is read back unchanged, and its keys remain for the next run', () => {
    state.write(RUNNING);
    expect(state.read()).toEqual(RUNNING);
    state.remove();
    expect(state.read()).toBeUndefined();
    expect(state.keys()).toEqual({ tenantId: 'ten_a', apiKey: 'sk_test_a', operatorKey: 'ok_b' });
  });

  test('contains the URL of the PostgreSQL server and the process id of its keeper', () => {
    const postgres = { url: 'postgres://postgres:p@localhost:15432/payonce', keeperPid: 7 };
    state.write({ ...RUNNING, postgres });
    expect(state.read()?.postgres).toEqual(postgres);
  });

  test('can be read only by this user, even if it replaces a file that others can read', () => {
    writeFileSync(join(directory, 'local.json'), '{}', { mode: 0o644 });
    state.write(RUNNING);
    for (const name of ['local.json', 'keys.json']) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  });

  test('is ignored after its process has ended', async () => {
    state.write(RUNNING);
    expect(await state.running()).toBeUndefined();
  });

  test('is ignored if its process id was reused', async () => {
    state.write({ ...RUNNING, keeperPid: processNamed('another-program') });
    expect(await state.running()).toBeUndefined();
  });

  test('is ignored if its URL does not respond in time, although its processes still count as running', async () => {
    state.write({ ...RUNNING, keeperPid: processNamed('keeper.ts') });
    expect([await state.running(0), state.isKept()]).toEqual([undefined, true]);
  });

  test('makes payonce --local report that the stack does not respond, without suggesting a second start', async () => {
    state.write({ ...RUNNING, keeperPid: processNamed('keeper.ts') });
    const began = Date.now();
    let looks = 0;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => began + 10_000 * (looks += 1));
    const program = payonceProgram({ print: () => undefined, isTerminal: false, freshKey: () => 'key' });
    const words = ['--directory', directory, 'tenants', 'list', '--local'];
    await expect(program.parseAsync(words, { from: 'user' }).finally(() => clock.mockRestore())).rejects.toMatchObject({
      exitCode: ExitCode.unreachable,
      message: `The local stack in ${directory} runs but does not respond. Try again later, or stop it with "npm stop".`,
    });
  });

  test('is accepted if its URL responds late', async () => {
    const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const aws = { ...RUNNING, awsEndpoint: `http://127.0.0.1:${port}`, keeperPid: processNamed('keeper.ts') };
    state.write(aws);
    const found = state.running();
    await sleep(500);
    server.listen(port, '127.0.0.1');
    expect(await found).toEqual(aws);
    server.close();
    server.closeAllConnections();
  });

  test.each(['', '{', 'null', '[]', '{"keeperPid":1}'])('is ignored if it is %j', async (text) => {
    for (const name of ['local.json', 'keys.json']) writeFileSync(join(directory, name), text);
    expect(state.read()).toBeUndefined();
    expect(state.keys()).toBeUndefined();
    expect(await state.running()).toBeUndefined();
  });
});

describe('a start', () => {
  test('is refused only while another start is running in the same directory', () => {
    writeFileSync(join(directory, 'starting.pid'), String(processNamed('local/start.ts')));
    expect(() => state.claim()).toThrow(/Process \d+ is starting Payonce/);
    writeFileSync(join(directory, 'starting.pid'), String(NO_PROCESS));
    state.claim();
    state.release();
    state.claim();
  });

  test('finds the authority of the state that earlier runs saved, and can delete this state', () => {
    state.write(RUNNING);
    mkdirSync(join(directory, 'postgres'));
    expect(state.earlierAuthority()).toBeUndefined();
    mkdirSync(join(directory, 'state'));
    expect(state.earlierAuthority()).toBe('postgres');
    rmSync(join(directory, 'postgres'), { recursive: true });
    expect(state.earlierAuthority()).toBe('dynamodb');
    mkdirSync(join(directory, 'postgres'));
    state.removeEarlierState();
    mkdirSync(join(directory, 'state'));
    expect(state.earlierAuthority()).toBe('dynamodb');
    expect(state.read()).toBeUndefined();
    expect(state.keys()).toBeUndefined();
  });
});

test('a start that cannot create its directory reports this, and does not retry forever', async () => {
  const launch = join(import.meta.dirname, '..', '..', 'local', 'launch.mjs');
  const ended = await promisify(execFile)(
    process.execPath,
    [launch, join(dirname(launch), 'start.ts'), '--directory', '/proc/nowhere/at-all'],
    { cwd: directory },
  ).catch((error: unknown) => error);
  const stderr = expect.stringMatching(/^\/proc\/nowhere\S* cannot be used: .+ \(mkdir\)\.\n$/);
  expect(ended).toMatchObject({ code: 1, killed: false, stderr });
});
