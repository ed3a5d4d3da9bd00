import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { payonceProgram } from '../../cli/program.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { until } from '../support/until.ts';
import { Api, OPERATOR_KEY } from '../world/api.ts';
import { apiServer } from './api-over-http.ts';

let harness: Api;
let url: string;
let printed: string[];

const server = apiServer(() => harness);

beforeAll(async () => {
  url = await listenOnLoopback(server);
});
afterAll(() => stopListening(server));
beforeEach(() => {
  harness = new Api();
  printed = [];
});

async function run(...args: readonly string[]): Promise<readonly string[]> {
  const program = payonceProgram({
    print: (lines) => printed.push(...lines.split('\n')),
    isTerminal: false,
    freshKey: () => `key-${printed.length}-${harness.reports.length}`,
  });
  await program.parseAsync(['jobs', '--url', `${url}/`, '--key', OPERATOR_KEY, ...args], { from: 'user' });
  return printed;
}

const T1 = '2026-03-01T11:00:00Z';
const cells = (line: string | undefined): readonly string[] => line?.split(/ {2,}/) ?? [];
const NOTHING = ['0', '0', '0', '0'];
const ending = async (...args: readonly string[]) => endingOf(await run(...args).catch((error: unknown) => error));

describe('payonce jobs', () => {
  test('list shows every job with its last and next run', async () => {
    await run('run', 'close-days', '--scheduled-for', String(Date.parse(T1) / 1000));
    printed = [];
    const lines = (await run('list')).map(cells);
    expect(lines[0]).toEqual(['JOB', 'SCHEDULE', 'LAST RUN', 'NEXT RUN']);
    expect(lines).toContainEqual(['close-days', 'cron(20 1 * * ? *)', `${T1} accepted`, '2026-03-02T01:20:00Z']);
    expect(lines).toContainEqual(['resolve', 'rate(1 minute)', 'never ran', 'unknown']);
  });

  test('`run` requests a run for now or for a given time, and `runs` lists it', async () => {
    expect(cells((await run('run', 'close-days'))[1])).toEqual([
      'close-days:2026-03-01T12:00:00Z',
      'accepted',
      ...NOTHING,
    ]);
    printed = [];
    expect(cells((await run('run', 'close-days', '--scheduled-for', String(Date.parse(T1) / 1000)))[1])).toEqual([
      `close-days:${T1}`,
      'accepted',
      ...NOTHING,
    ]);
    printed = [];
    const runs = await run('runs', 'close-days', '--most', '1');
    expect(runs).toHaveLength(2);
    expect(cells(runs[1])).toEqual(['close-days:2026-03-01T12:00:00Z', 'accepted', ...NOTHING]);
    printed = [];
    expect(await run('runs', 'resolve')).toEqual(['No runs.']);
  });

  test('runs --items lists the skipped and failed items of a run', async () => {
    await run('run', 'close-days');
    const [made] = harness.store.allRuns();
    if (made === undefined) throw new Error('there is no run');
    const nowMs = harness.clock.nowMs();
    const lock = await harness.store.jobRuns.lock(made.jobId, made.runId, { nowMs, leaseExpiresAtMs: nowMs + 1 });
    if (lock === undefined) throw new Error('another run holds the lock');
    await harness.store.jobRuns.save(
      { ...made, skipped: ['pay_1', 'pay_2'], failedItems: ['pay_3'], version: 2 },
      lock,
      nowMs,
    );
    printed = [];
    expect((await run('runs', 'close-days', '--items')).slice(2).map(cells)).toEqual([
      ['RUN', 'ITEM', 'WAS'],
      ['close-days:2026-03-01T12:00:00Z', 'pay_1', 'skipped'],
      ['close-days:2026-03-01T12:00:00Z', 'pay_2', 'skipped'],
      ['close-days:2026-03-01T12:00:00Z', 'pay_3', 'failed'],
    ]);
    printed = [];
    await run('run', 'resolve');
    printed = [];
    expect((await run('runs', 'resolve', '--items')).at(-1)).toBe('No item failed.');
  });

  test('run --wait reports that an accepted run waits for its worker, and shows the ended run', async () => {
    const waiting = run('run', 'close-days', '--wait');
    const { jobRuns } = harness.store;
    const made = await until(async () => (printed.length === 0 ? undefined : harness.store.allRuns()[0]));
    expect(printed).toEqual(['… close-days:2026-03-01T12:00:00Z is accepted and waits for its worker']);
    const nowMs = harness.clock.nowMs();
    const lock = await jobRuns.lock(made.jobId, made.runId, { nowMs, leaseExpiresAtMs: nowMs + 1 });
    if (lock === undefined) throw new Error('another run holds the lock');
    await jobRuns.save({ ...made, status: 'succeeded', done: 3, left: 1, version: 2 }, lock, nowMs);
    expect(cells((await waiting)[2])).toEqual([made.runId, 'succeeded', '3', '1', '0', '0']);
  });

  test("prints the API's JSON document with --json", async () => {
    const shown: unknown = JSON.parse((await run('runs', 'resolve', '--json')).join('\n'));
    expect(shown).toEqual({ object: 'list', data: [], has_more: false });
  });

  test('reports that a response is not from the API', async () => {
    const other = createServer((request, response) => {
      request.resume();
      response.end('<html></html>');
    });
    const address = await listenOnLoopback(other);
    try {
      expect(await ending('--url', address, 'list')).toEqual({
        exitCode: ExitCode.settings,
        sentence: 'The response does not match the API of this version of Payonce: check --url.',
      });
      expect(printed).toEqual([]);
    } finally {
      await stopListening(other);
    }
  });

  test('reports the details when the API refuses a request', async () => {
    expect(await ending('run', 'close-weeks')).toEqual({
      exitCode: ExitCode.notFound,
      sentence: 'not_found: There is no such job: see the list of jobs.',
    });
    const future = await ending('run', 'close-days', '--scheduled-for', '1772370000');
    expect(future.exitCode).toBe(ExitCode.refused);
    expect(future.sentence).toContain('invalid_request: scheduled_for must not be in the future');
    expect((await ending('--key', 'nonsense', 'list')).sentence).toContain('unauthorized: Send a valid operator key');
    expect(await ending('runs', '../payments')).toMatchObject({ exitCode: ExitCode.notFound });
  });

  test.each([
    [
      ['run', 'close-days', '--scheduled-for', 'yesterday'],
      "option '--scheduled-for <seconds>': yesterday is not a time in Unix seconds. Example: 1772366400.",
    ],
    [
      ['run', 'close-days', '--scheduled-for', '2026-03-01'],
      "option '--scheduled-for <seconds>': 2026-03-01 is not a time in Unix seconds. Example: 1772366400.",
    ],
    [['runs', 'close-days', '--most', '0'], "option '--most <n>': 0 is not a number from 1 to 100."],
    [['runs', 'close-days', '--most', '1.5'], "option '--most <n>': 1.5 is not a number from 1 to 100."],
    [['run'], "missing required argument 'id'"],
    [['stop'], "unknown command 'stop'"],
  ])('refuses %j without a request', async (args, sentence) => {
    expect(await ending(...args)).toEqual({ exitCode: ExitCode.usage, sentence });
    expect(harness.reports).toEqual([]);
    expect(printed).toEqual([]);
  });
});
