import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { CommanderError } from 'commander';
import { jobsProgram, type Target } from '../../operator/jobs-program.ts';
import { JobsDesk } from '../support/jobs-desk.ts';
import { API_KEY } from '../support/payments-desk.ts';
import { listenOnLoopback, stopListening } from '../support/sandbox-listen.ts';

let desk: JobsDesk;
let url: string;
let printed: string[];
let targets: Target[];

/** The API of jobs over HTTP. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const body = await text(request);
  const event = { body: body === '' ? null : body, headers, multiValueHeaders: {} };
  const reply = await desk.ask(request.method ?? '', request.url ?? '', { event });
  response.writeHead(reply.status, reply.headers).end(reply.text);
}
const server = createServer((request, response) => void serve(request, response));

beforeAll(async () => {
  url = await listenOnLoopback(server);
});
afterAll(async () => {
  server.closeAllConnections();
  await stopListening(server);
});
beforeEach(() => {
  desk = new JobsDesk();
  printed = [];
  targets = [];
});

async function run(...args: readonly string[]): Promise<readonly string[]> {
  const program = jobsProgram({
    locate: async (target) => {
      targets.push(target);
      return { url, key: target.key ?? API_KEY };
    },
    print: (line) => printed.push(line),
    freshKey: () => `key-${printed.length}-${desk.reports.length}`,
  });
  for (const each of [program, ...program.commands]) each.exitOverride().configureOutput({ writeErr: () => undefined });
  await program.parseAsync(args, { from: 'user' });
  return printed;
}

const T1 = '2026-03-01T11:00:00Z';
const NOTHING = 'done 0  left 0  failed 0  set aside 0';

describe('npm run jobs', () => {
  test('list shows every job with its last run and its next', async () => {
    await run('run', 'close-days', '--at', T1);
    printed = [];
    const lines = await run('list');
    expect(lines).toContain(`close-days  cron(20 1 * * ? *)  last ${T1} accepted  next 2026-03-02T01:20:00Z`);
    expect(lines).toContain('resolve  rate(1 minute)  never ran  next not known yet');
  });

  test('run asks for a run, for now or for a time, and runs shows them', async () => {
    await run('run', 'close-days');
    await run('run', 'close-days', '--at', T1);
    expect(printed).toEqual([
      `close-days:2026-03-01T12:00:00Z  accepted  ${NOTHING}`,
      `close-days:${T1}  accepted  ${NOTHING}`,
    ]);
    printed = [];
    expect(await run('runs', 'close-days', '--most', '1')).toEqual([
      `close-days:2026-03-01T12:00:00Z  accepted  ${NOTHING}`,
    ]);
    printed = [];
    expect(await run('runs', 'resolve')).toEqual(['No runs.']);
  });

  test('hands on where to go, wherever the options stand', async () => {
    await run('--local', 'list');
    await run('--url', 'https://api.example/', '--key', API_KEY, 'runs', 'resolve');
    expect(targets).toEqual([{ local: true }, { url: 'https://api.example', key: API_KEY }]);
  });

  test('says what the API says when it refuses', async () => {
    await expect(run('run', 'close-weeks')).rejects.toThrow('not_found: There is no such job.');
    await expect(run('run', 'close-days', '--at', '2026-03-01T12:10:00Z')).rejects.toThrow(
      'invalid_request: scheduled_for must not lie in the future',
    );
    await expect(run('--key', 'nonsense', 'list')).rejects.toThrow('unauthorized: Send a valid API key');
    await expect(run('runs', '../payments')).rejects.toThrow('not_found');
  });

  test.each([
    [['run', 'close-days', '--at', 'yesterday'], 'yesterday is no time'],
    [['run', 'close-days', '--at', '2026-03-01'], '2026-03-01 is no time'],
    [['runs', 'close-days', '--most', '0'], '0 is not a number from 1 to 100'],
    [['runs', 'close-days', '--most', '1.5'], '1.5 is not a number'],
    [['run'], 'missing required argument'],
    [['stop'], 'unknown command'],
  ])('%j is refused before anything is asked', async (args, said) => {
    const refused = run(...args);
    await expect(refused).rejects.toBeInstanceOf(CommanderError);
    await expect(refused).rejects.toThrow(said);
    expect(targets).toEqual([]);
  });
});
