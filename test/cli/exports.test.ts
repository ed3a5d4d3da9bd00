import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { payonceProgram } from '../../cli/program.ts';
import { fileOf } from '../../lambdas/exports/domain/data-export.ts';
import { MemoryExportFiles } from '../exports/memory-export-files.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { API_KEY, Api, OPERATOR_KEY } from '../world/api.ts';
import { apiServer } from './api-over-http.ts';

const DAYS = ['--from', '2026-03-01', '--to', '2026-03-01'];
const FILES = '/files/';

let api: Api;
let url: string;
let directory: string;
/** The server truncates an export file to this length, in bytes. */
let cutAt: number;

const server = apiServer(
  () => api,
  ({ url: path = '' }, response) => {
    if (!path.startsWith(FILES)) return false;
    response.end(api.files.files.get(path.slice(FILES.length))?.slice(0, cutAt));
    return true;
  },
);

beforeAll(async () => {
  url = await listenOnLoopback(server);
  directory = mkdtempSync(join(tmpdir(), 'payonce-exports-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await stopListening(server);
});
beforeEach(async () => {
  cutAt = Infinity;
  api = new Api({ link: async (asked) => `${url}${FILES}${fileOf(asked)}` });
  await api.paid('a', { reference: 'order-1' });
  await api.paid('b', { amount: 5, currency: 'JPY' });
});

let keys = 0;
async function run(...words: readonly string[]): Promise<readonly string[]> {
  const printed: string[] = [];
  const program = payonceProgram({
    print: (lines) => printed.push(...lines.split('\n')),
    isTerminal: false,
    freshKey: () => `export-${(keys += 1)}`,
  });
  const key = words.includes('--tenant') ? OPERATOR_KEY : API_KEY;
  await program.parseAsync(['exports', ...words, '--url', url, '--key', key], { from: 'user' });
  return printed;
}
const ending = async (...words: readonly string[]) => endingOf(await run(...words).catch((error: unknown) => error));
const output = () => join(directory, `file-${keys}.csv`);

describe('payonce exports', () => {
  test('create saves the whole file, list shows the export, and get saves the file a second time', async () => {
    const [file, again] = [output(), `${output()}-again`];
    const filters = ['--currency', 'EUR', '--amount-from', '6', '--status', 'succeeded'];
    const shown = await run('create', '--kind', 'payments', ...DAYS, ...filters, '--output', file);
    const id = /exp_\w+/.exec(shown.join())?.[0] ?? '';
    expect(readFileSync(file, 'utf8').split('\r\n')).toMatchObject([
      expect.stringMatching(/^created,payment,status,amount,/),
      expect.stringMatching(/,succeeded,10\.00,1000,EUR,.*,order-1,/),
      '',
    ]);
    expect((await run('list'))[1]).toMatch(new RegExp(`^${id} +completed +payments +2026-03-01 to 2026-03-01 +1 `));
    await run('get', id, '--output', again);
    expect(readFileSync(again)).toEqual(readFileSync(file));
    expect(await run('get', id)).toContain(`${url}${FILES}exports/ten_desk/test/${id}.csv`);
  });

  test('works for an operator who specifies the tenant', async () => {
    const file = output();
    await run('create', '--kind', 'entries', ...DAYS, '--tenant', 'ten_desk', '--output', file);
    expect(readFileSync(file, 'utf8').trimEnd().split('\r\n')).toHaveLength(5);
    expect(await run('list', '--tenant', 'ten_desk')).toHaveLength(2);
    expect(await run('list', '--tenant', 'ten_desk', '--mode', 'live')).toEqual(['No exports.']);
  });

  test('leaves no file after an incomplete download', async () => {
    cutAt = 20;
    const file = output();
    const { exitCode, sentence } = await ending('create', '--kind', 'entries', ...DAYS, '--output', file);
    expect({ exitCode, sentence }).toEqual({
      exitCode: ExitCode.incomplete,
      sentence: expect.stringMatching(/^20 of \d+ bytes were received/),
    });
    expect([existsSync(file), existsSync(`${file}.part`)]).toEqual([false, false]);
  });

  test('reports a failed export, and a file that was removed', async () => {
    const shown = await run('create', '--kind', 'entries', ...DAYS, '--wait');
    const id = /exp_\w+/.exec(shown.join())?.[0] ?? '';
    api.clock.advance(8 * 24 * 60 * 60 * 1000);
    expect(await ending('get', id, '--output', output())).toMatchObject({ exitCode: ExitCode.notFound });
    const files = new MemoryExportFiles();
    files.end = async () => false;
    api = api.with();
    Object.assign(api, { files });
    expect(await ending('create', '--kind', 'entries', ...DAYS, '--wait')).toEqual({
      exitCode: ExitCode.incomplete,
      sentence: expect.stringMatching(/^The export exp_\w+ is failed \(upload_lost\)\.$/),
    });
  });

  test('reports a refused request, and an unknown export', async () => {
    expect(await ending('create', '--kind', 'orders', ...DAYS)).toMatchObject({ exitCode: ExitCode.refused });
    expect(await ending('get', `exp_${'a'.repeat(32)}`)).toMatchObject({ exitCode: ExitCode.notFound });
  });
});
