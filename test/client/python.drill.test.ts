import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { bundleFolder } from '../support/bundle-folder.ts';
import { startPostgres, type TestDatabase } from '../support/postgres.ts';
import { surveyDeployed } from './deployed-charges.ts';
import { python } from './python-lives.ts';

let program: string;
let folder: string;
let database: TestDatabase;
beforeAll(async () => {
  folder = bundleFolder('python-drill');
  program = join(folder, 'environment', 'bin', 'python');
  await python(['-m', 'venv', join(folder, 'environment')]);
  const options = ['--quiet', '--disable-pip-version-check', '--require-hashes', '-r', 'requirements-dev.txt'];
  await python(['-m', 'pip', 'install', ...options], { program, path: [] });
  database = await startPostgres();
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

test('the Python client and its tests have complete and correct types', async () => {
  const said = await python(['-m', 'mypy', '--cache-dir', join(folder, 'types')], { program, path: [] });
  expect(said).toContain('Success: no issues found');
});

describe('Python processes with their keys in PostgreSQL', () => {
  const own = () => ({ store: 'postgres', database: database.url, folder: join(folder, 'keys') }) as const;

  test('charge once if they crash between any two steps', async () => {
    const { findings, histories } = await surveyDeployed({ ...own(), crashes: 2 }, program);
    expect(findings).toEqual([]);
    expect(histories).toBeGreaterThan(36);
  });

  test('charge once if they pay concurrently', async () => {
    const { findings } = await surveyDeployed({ ...own(), crashes: 0, racers: 3, rounds: 20 }, program);
    expect(findings).toEqual([]);
  });
});
