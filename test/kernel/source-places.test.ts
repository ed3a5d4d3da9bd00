import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildSync } from 'esbuild';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { withSourcePositions } from '../../lambdas/kernel/platform/source-places.ts';
import { standardTelemetry } from '../../lambdas/kernel/platform/telemetry.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const lines = catchWrittenLines();
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-places-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function frameIn(bundle: string): string {
  const column = readFileSync(bundle, 'utf8').indexOf('throw') + 1;
  return `    at charge (${pathToFileURL(bundle).href}:1:${column})`;
}

function bundled(): string {
  const source = join(directory, 'charge.ts');
  writeFileSync(
    source,
    'export function charge(amount: number): void {\n  // why\n  throw new Error(`no ${amount}`);\n}\n',
  );
  const outfile = join(directory, 'index.mjs');
  buildSync({ entryPoints: [source], outfile, format: 'esm', minify: true, sourcemap: 'external' });
  return outfile;
}

test('an error is logged with its position in the source', () => {
  const fault = Object.assign(new Error('no 5'), { stack: `Error: no 5\n${frameIn(bundled())}` });
  standardTelemetry('payments', systemInstruments).fault('request', fault);
  const [line = ''] = lines;
  const { fault: written } = JSON.parse(line) as { fault: { stack: string } };
  expect(written.stack).toMatch(/^Error: no 5\n {4}at charge \(.*charge\.ts:3:3\)$/);
});

test.each([
  ['in a bundle without a source map', '    at charge (file:///var/task/index.mjs:1:2345)'],
  ['of Node', '    at run (node:internal/modules/esm/module_job:561:25)'],
  ['at a position that no source has', `    at charge (${pathToFileURL('/index.mjs').href}:999999:1)`],
])('a stack frame %s is left unchanged', (_what, frame) => {
  expect(withSourcePositions(`Error: no 5\n${frame}`)).toBe(`Error: no 5\n${frame}`);
});
