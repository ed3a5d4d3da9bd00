import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { curlLine } from '../../local/announcement.ts';
import { emulatorEnvironment } from '../../local/emulator-environment.ts';
import { freePort } from '../../local/free-port.ts';
import { findPython } from '../../local/python-environment.ts';

describe('Python', () => {
  const machineWith = (versions: Record<string, string>) => (command: readonly string[]) => {
    const answer = versions[command.join(' ')];
    return answer === undefined ? Promise.reject(new Error('ENOENT')) : Promise.resolve(answer);
  };

  test('is the first that is new enough', async () => {
    expect(await findPython(machineWith({ python3: 'Python 3.9.2\n', python: 'Python 3.12.1\n' }))).toEqual(['python']);
    expect(await findPython(machineWith({ 'py -3': 'Python 3.10.0' }))).toEqual(['py', '-3']);
  });

  test('missing or too old is one line that says what to do', async () => {
    await expect(findPython(machineWith({}))).rejects.toThrow(
      'The local AWS needs Python 3.10 or newer, and none was found: install it from python.org.',
    );
    await expect(findPython(machineWith({ python3: 'Python 3.8.10\n' }))).rejects.toThrow('found only Python 3.8.10');
  });
});

describe('a checkout whose packages are not installed', () => {
  test('is one line that says what to do', async () => {
    const checkout = mkdtempSync(join(tmpdir(), 'payonce-bare-'));
    const script = join(checkout, 'start.mjs');
    copyFileSync(join(import.meta.dirname, '..', '..', 'local', 'start.mjs'), script);
    await expect(promisify(execFile)(process.execPath, [script])).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'The packages are not installed: run "npm ci" first.\n',
    });
    rmSync(checkout, { recursive: true });
  });
});

describe('the port', () => {
  test('is the wanted one when it is free, and another when it is taken', async () => {
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

describe('whatever talks to the emulator', () => {
  test('gets nothing of the person’s own settings', () => {
    const environment = emulatorEnvironment('http://localhost:1', {
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
    });
    expect(JSON.stringify(environment)).not.toMatch(
      /production|secret|AKIA|123456789012|proxy\.example|inspect|POWERTOOLS/,
    );
    expect(environment).toMatchObject({
      HOME: '/home/someone',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_ENDPOINT_URL: 'http://localhost:1',
    });
    expect(environment['PATH']).toMatch(/node_modules.\.bin.*\/usr\/bin$/);
  });
});

describe('the printed curl line', () => {
  test('takes a payment as it stands', () => {
    const line = curlLine({ apiUrl: 'http://localhost:4566/live', apiKey: 'sk_test_x' });
    expect(line).toBe(
      "curl -i -X POST 'http://localhost:4566/live/v1/payments' -H 'Authorization: Bearer sk_test_x' " +
        "-H 'Idempotency-Key: my-first-payment' -H 'Content-Type: application/json' " +
        `-d '{"amount":1000,"currency":"EUR","source":"tok_ok"}'`,
    );
  });
});
