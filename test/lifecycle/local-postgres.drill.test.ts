import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { openLocalDatabase } from '../../local/postgres.ts';
import { runningProcesses, signalProcess } from '../../local/processes.ts';
import { ApiClient } from '../support/api-client.ts';
import { payonce } from '../support/command-line.ts';
import { until } from '../support/until.ts';

const PORT = 14_866;
const directory = mkdtempSync(join(tmpdir(), 'payonce-local-postgres-'));
const run = promisify(execFile);
const local = (script: string, ...parameters: string[]) =>
  run(process.execPath, [join('local', 'launch.mjs'), join('local', script), '--directory', directory, ...parameters], {
    cwd: PROJECT,
  });
const start = (...parameters: string[]) => local('start.ts', '--detach', '--port', String(PORT), ...parameters);
const details = () => JSON.parse(readFileSync(join(directory, 'local.json'), 'utf8')) as LocalAws;

const servers = () => runningProcesses().filter(({ commandLine }) => commandLine.includes(`-D ${directory}/`));

afterAll(async () => {
  await local('stop.ts');
  rmSync(directory, { recursive: true, force: true });
});

const pay = (key: string) => {
  const aws = details();
  return new ApiClient(aws, aws.apiKey).payUntilAnswered({ key });
};

async function storedPayments(): Promise<unknown> {
  const { postgres } = details();
  if (postgres === undefined) throw new Error('the state file has no database');
  const database = openLocalDatabase(postgres);
  const text = "SELECT count(DISTINCT chain_id) AS payments FROM payonce.transition WHERE chain_id LIKE 'pay_%'";
  try {
    const [row] = await database.run({ name: '', text, values: [] });
    return row?.['payments'];
  } finally {
    await database.close();
  }
}

test('a stack with PostgreSQL keeps its payments after a stop, a start and a kill; its database server stops with the stack', async () => {
  await start('--authority', 'postgres');
  const first = await pay('first');
  expect([201, 202]).toContain(first.status);
  // The self-check of the start also makes a payment.
  expect(await storedPayments()).toBe(2);
  expect(servers()).toHaveLength(1);
  const { code, said } = await payonce(details(), 'doctor');
  expect([code, said]).toEqual([expect.any(Number), expect.not.stringMatching(/database|postgres/i)]);

  await local('stop.ts');
  expect(servers()).toEqual([]);
  // The restart uses the authority of the saved state.
  expect((await start()).stdout).toContain('Stacks: unchanged, not deployed');
  expect((await pay('first')).headers.get('idempotency-replayed')).toBe('true');
  expect(await storedPayments()).toBe(3);

  const { keeperPid = 0 } = details().postgres ?? {};
  signalProcess(-keeperPid, 'SIGKILL');
  await until(async () => (servers().length === 0 ? true : undefined));
  const refused = await new ApiClient(details(), details().apiKey).pay({ key: 'while-down' });
  expect([refused.status, refused.json['code']]).toEqual([503, expect.stringMatching(/_unavailable$/)]);
  await local('stop.ts');
  await start();
  expect((await pay('while-down')).headers.get('idempotency-replayed')).toBeNull();
  expect((await pay('first')).text).toBe(first.text);
});

test('a start with a different authority is refused until the tables are emptied', async () => {
  const refused = await start('--authority', 'dynamodb').catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('are in PostgreSQL') });
  await local('stop.ts');
  expect(await start('--authority', 'dynamodb').catch((error: unknown) => error)).toMatchObject({ code: 1 });
  await start('--fresh', '--authority', 'dynamodb');
  expect(details().postgres).toBeUndefined();
  expect((await pay('first')).headers.get('idempotency-replayed')).toBeNull();
  expect(servers()).toEqual([]);
});
