import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { build, type Metafile } from 'esbuild';
import { PROJECT } from '../../local/directories.ts';

const directory = mkdtempSync(join(tmpdir(), 'payonce-driver-'));
const bundle = join(directory, 'connection.mjs');
let inputs: Metafile['inputs'];

beforeAll(async () => {
  // Bundles the driver as the functions are bundled (lib/lambda-code.ts).
  const { metafile } = await build({
    absWorkingDir: PROJECT,
    entryPoints: ['lambdas/postgres/connection.ts'],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    minify: true,
    metafile: true,
    logLevel: 'error',
  });
  ({ inputs } = metafile);
});
afterAll(() => rmSync(directory, { recursive: true }));

test("the driver can be loaded from a function's bundle, which is an ES module, and attempts a connection", () => {
  const program = `
    const { openDatabase } = await import(${JSON.stringify(bundle)});
    const server = { host: 'localhost', port: 1, database: 'd', user: 'u', password: 'p' };
    const database = openDatabase({ credentials: { current: async () => server }, clock: Date, tls: {} });
    await database.run({ name: '', text: 'SELECT 1', values: [] }).catch((error) => console.log(error.cause.code));`;
  const file = join(directory, 'program.mjs');
  writeFileSync(file, program);
  const output = execFileSync(process.execPath, [file], { encoding: 'utf8' });
  expect(output).toBe('ECONNREFUSED\n');
});

test('the bundle contains the driver, but no AWS client', () => {
  const packages = new Set(
    Object.keys(inputs).flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []),
  );
  expect(packages).toContain('pg');
  expect([...packages].filter((name) => name.startsWith('@'))).toEqual([]);
});
