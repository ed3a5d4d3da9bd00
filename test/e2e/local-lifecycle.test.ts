import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { LocalAws } from '../../local/local-aws.ts';

const PROJECT = resolve(import.meta.dirname, '..', '..');
const directory = mkdtempSync(join(tmpdir(), 'payonce-lifecycle-'));
const run = promisify(execFile);
const PORT = 14_766;

const local = (script: string, ...parameters: string[]) =>
  run(process.execPath, [join(PROJECT, 'local', script), '--directory', directory, ...parameters], { cwd: PROJECT });
const start = () => local('start.mjs', '--detach', '--port', String(PORT));
const stop = () => local('stop.ts');
const details = () => JSON.parse(readFileSync(join(directory, 'local.json'), 'utf8')) as LocalAws;

/** Processes that work for this directory: the keeper, the emulator, the functions' workers. */
function survivors(): readonly string[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.includes(directory) && !/^\s*\d+\s+Z/.test(line));
}

async function untilGone(): Promise<readonly string[]> {
  for (let look = 0; look < 150 && survivors().length > 0; look += 1) await sleep(100);
  return survivors();
}

async function pay({ apiUrl, apiKey }: LocalAws): Promise<{ status: number; replayed: string | null }> {
  const answer = await fetch(`${apiUrl}/v1/payments`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'idempotency-key': 'lifecycle',
      'content-type': 'application/json',
    },
    body: '{"amount":1000,"currency":"EUR","source":"tok_ok"}',
  });
  await answer.text();
  return { status: answer.status, replayed: answer.headers.get('idempotency-replayed') };
}

afterAll(async () => {
  await stop();
  rmSync(directory, { recursive: true, force: true });
});

describe('the local AWS', () => {
  test('starts, is found running, stops, and starts again with its keys and its payments', async () => {
    const first = await start();
    expect(first.stdout).toContain("curl -i -X POST 'http://localhost:");
    const aws = details();
    expect(statSync(join(directory, 'local.json')).mode & 0o777).toBe(0o600);
    expect(await pay(aws)).toEqual({ status: 201, replayed: null });

    const again = await start();
    expect(again.stdout).toContain('running already');
    expect(details()).toEqual(aws);

    expect((await stop()).stdout).toContain('Payonce has ended');
    expect(await untilGone()).toEqual([]);
    expect(existsSync(join(directory, 'local.json'))).toBe(false);
    expect((await stop()).stdout).toContain('Nothing was running');

    await start();
    expect(details().apiKey).toBe(aws.apiKey);
    expect(await pay(details())).toEqual({ status: 201, replayed: 'true' });
    await stop();
    expect(await untilGone()).toEqual([]);
  }, 120_000);

  test('killed outright in the foreground, it leaves nothing running and nothing that confuses the next start', async () => {
    const foreground = spawn(
      process.execPath,
      [join(PROJECT, 'local', 'start.mjs'), '--directory', directory, '--port', String(PORT)],
      { cwd: PROJECT, stdio: 'ignore' },
    );
    for (let look = 0; look < 600 && !existsSync(join(directory, 'local.json')); look += 1) await sleep(100);
    await pay(details());
    expect(survivors().length).toBeGreaterThan(0);
    foreground.kill('SIGKILL');
    expect(await untilGone()).toEqual([]);

    expect(existsSync(join(directory, 'local.json'))).toBe(true);
    expect((await start()).stdout).not.toContain('running already');
    await stop();
  }, 120_000);

  test('a file that says nonsense is no obstacle', async () => {
    writeFileSync(join(directory, 'local.json'), '{"keeperPid": 1');
    expect((await stop()).stdout).toContain('Nothing was running');
  });
});
