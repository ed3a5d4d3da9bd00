import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { announcement, curlLine } from '../../local/announcement.ts';
import { emulatorEnvironment } from '../../local/emulator-environment.ts';
import { freePort } from '../../local/free-port.ts';
import { findPython } from '../../local/python-environment.ts';

describe('Python', () => {
  const machineWith = (versions: Record<string, string>) => (command: readonly string[]) => {
    const answer = versions[command.join(' ')];
    return answer === undefined ? Promise.reject(new Error('ENOENT')) : Promise.resolve(answer);
  };

  test('is the first candidate whose version is supported', async () => {
    expect(await findPython(machineWith({ python3: 'Python 3.9.2\n', python: 'Python 3.12.1\n' }))).toEqual(['python']);
    expect(await findPython(machineWith({ 'py -3': 'Python 3.10.0' }))).toEqual(['py', '-3']);
  });

  test('is reported in one line with a remedy if it is missing or too old', async () => {
    await expect(findPython(machineWith({}))).rejects.toThrow(
      'Payonce needs Python 3.10 or newer, but none was found: install it from python.org.',
    );
    await expect(findPython(machineWith({ python3: 'Python 3.8.10\n' }))).rejects.toThrow('found only Python 3.8.10');
  });
});

describe('a failing program of the project', () => {
  const project = join(import.meta.dirname, '..', '..');
  const run = promisify(execFile);
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'payonce-bare-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  test.each([
    ['local/launch.mjs', 1],
    ['cli/payonce.mjs', 3],
  ])('names the remedy when the packages are not installed: %s', async (script, code) => {
    for (const file of ['local/launch.mjs', 'local/sentence.mjs', 'cli/payonce.mjs'])
      cpSync(join(project, file), join(directory, file), { recursive: true });
    await expect(run(process.execPath, [join(directory, script), 'local/start.ts'])).rejects.toMatchObject({
      code,
      stdout: '',
      stderr: 'The packages are not installed: run "npm ci" first.\n',
    });
  });

  test('names the remedy when only some of the packages are installed: cli/payonce.mjs', async () => {
    for (const file of ['local/sentence.mjs', 'cli/payonce.mjs'])
      cpSync(join(project, file), join(directory, file), { recursive: true });
    const binaries = join(directory, 'node_modules', '.bin');
    mkdirSync(binaries, { recursive: true });
    symlinkSync(process.execPath, join(binaries, 'node'));
    const payonce = run(process.execPath, [join(directory, 'cli', 'payonce.mjs'), 'tenants', 'list']);
    await expect(payonce).rejects.toMatchObject({
      code: 3,
      stderr: 'The packages are not installed: run "npm ci" first.\n',
    });
    writeFileSync(join(binaries, 'cdk'), '');
    writeFileSync(join(directory, 'cli', 'main.ts'), "import 'no-package';");
    await expect(run(process.execPath, [join(directory, 'cli', 'payonce.mjs')])).rejects.toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^Cannot find package 'no-package' imported from [^\n]+: run "npm ci" again\.\n$/),
    });
  });

  test.each([
    ['throws while it is loaded', "throw new Error('No port is free.\\n    at code');"],
    ['throws later', "setTimeout(() => { throw new Error('No port is free.'); });"],
    ['rejects a promise', "void Promise.reject(new Error('No port is free.'));"],
  ])('prints one sentence when it %s', async (_, code) => {
    const program = join(directory, 'program.ts');
    writeFileSync(program, code);
    await expect(run(process.execPath, [join(project, 'local', 'launch.mjs'), program])).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'No port is free.\n',
    });
  });

  test.each([
    ['a folder', "fs.mkdirSync('/dev/null/x');", /^\/dev\/null\/x cannot be used: not a directory \(mkdir\)\.$/],
    ['a program', "child.spawn('no-program');", /^The program no-program was not found: install it first\.$/],
    [
      'a port',
      'const first = net.createServer().listen(0, () => net.createServer().listen(first.address().port));',
      /^Port \d+ cannot be used: address already in use\.$/,
    ],
    ['a host', "await fetch('http://127.0.0.1:65111');", /^connect ECONNREFUSED 127\.0\.0\.1:65111$/],
    [
      'several addresses',
      "throw new AggregateError([new Error('connect ECONNREFUSED ::1:9')]);",
      /^connect ECONNREFUSED ::1:9$/,
    ],
    [
      'a package',
      "await import('no-package');",
      /^Cannot find package 'no-package' imported from .+: run "npm ci" again\.$/,
    ],
    ['a generated file', "await import('./generated/none.ts');", /^Cannot find module .+: run "npm ci" again\.$/],
  ])('prints one sentence when it cannot use %s', async (_, code, sentence) => {
    const program = join(directory, 'program.mjs');
    writeFileSync(
      program,
      `import child from 'node:child_process'; import fs from 'node:fs'; import net from 'node:net'; ${code}`,
    );
    const ended = await run(process.execPath, [join(project, 'local', 'launch.mjs'), program]).catch(
      (error: unknown) => error,
    );
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^[^\n]+\n$/) });
    expect((ended as { readonly stderr: string }).stderr.trim()).toMatch(sentence);
  });

  test('names the file and the line of a syntax error', async () => {
    const program = join(directory, 'program.ts');
    writeFileSync(program, 'let port: number;\nport = ;\n');
    await expect(run(process.execPath, [join(project, 'local', 'launch.mjs'), program])).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/program\.ts:2: Expression expected\n$/),
    });
  });
});

describe('the port', () => {
  test('is the preferred port if that one is free, or else another port', async () => {
    const taken = createServer();
    const port = await new Promise<number>((resolve) => {
      taken.listen(0, '127.0.0.1', () => {
        const address = taken.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
    const other = await freePort(port);
    expect(other).not.toBe(port);
    expect(other).toBeGreaterThan(0);
    await new Promise((resolve) => taken.close(resolve));
    expect(await freePort(port)).toBe(port);
  });
});

describe('a client of the emulator', () => {
  test('ignores the user’s AWS, proxy and Node settings', () => {
    const environment = emulatorEnvironment(
      { awsEndpoint: 'http://localhost:1', accessKeyId: 'PAYONCE' },
      {
        HOME: '/home/someone',
        PATH: '/usr/bin',
        AWS_PROFILE: 'production',
        AWS_SESSION_TOKEN: 'secret',
        AWS_ACCESS_KEY_ID: 'AKIA…',
        CDK_DEFAULT_ACCOUNT: '123456789012',
        HTTPS_PROXY: 'http://proxy.example',
        https_proxy: 'http://proxy.example',
        GITHUB_TOKEN: 'secret',
        NODE_OPTIONS: '--inspect',
        POWERTOOLS_IDEMPOTENCY_DISABLED: 'true',
      },
    );
    expect(JSON.stringify(environment)).not.toMatch(
      /production|secret|AKIA|123456789012|proxy\.example|inspect|POWERTOOLS/,
    );
    expect(environment).toMatchObject({
      HOME: '/home/someone',
      AWS_ACCESS_KEY_ID: 'PAYONCE',
      AWS_ENDPOINT_URL: 'http://localhost:1',
    });
    expect(environment['PATH']).toMatch(/node_modules.\.bin.*\/usr\/bin$/);
  });
});

describe('the printed curl line', () => {
  test('is followed by instructions for each response that is not final', () => {
    const aws = { apiUrl: 'http://localhost:4566/live', apiKey: 'sk_test_x' } as Parameters<typeof announcement>[0];
    const [, after = ''] = announcement(aws).split(curlLine(aws));
    for (const status of ['202', '409', '503']) expect(after).toMatch(new RegExp(`After[^.]* ${status}`));
  });

  test('is a complete request for a payment', () => {
    const line = curlLine({ apiUrl: 'http://localhost:4566/live', apiKey: 'sk_test_x' });
    expect(line).toBe(
      "curl -i -X POST 'http://localhost:4566/live/v1/payments' -H 'Authorization: Bearer sk_test_x' " +
        "-H 'Idempotency-Key: my-first-payment' -H 'Content-Type: application/json' " +
        `-d '{"amount":1000,"currency":"EUR","source":"tok_ok"}'`,
    );
  });
});
