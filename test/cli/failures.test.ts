import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { EXAMPLES } from '../../cli/examples.ts';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { addAccess, locate, TENANT } from '../../cli/operator-api.ts';
import { commandsOf, payonceProgram } from '../../cli/program.ts';
import type { Session } from '../../cli/session.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { sliceOf } from '../support/slice.ts';

const PAYONCE = resolve(import.meta.dirname, '..', '..', 'cli', 'payonce.mjs');

/** Replaces `global-bundle.pem` in the examples, because no such file exists. */
const EXISTING = PAYONCE;

const directory = mkdtempSync(join(tmpdir(), 'payonce-cli-'));
afterAll(() => rmSync(directory, { recursive: true }));

const BARE = {
  PATH: process.env['PATH'] ?? '',
  AWS_CONFIG_FILE: '/nonexistent/config',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
  AWS_EC2_METADATA_DISABLED: 'true',
};
const WITH_CREDENTIALS = { AWS_ACCESS_KEY_ID: 'AKIATEST', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'eu-west-1' };

const { env } = process;
afterEach(() => {
  process.env = env;
});

const wordsOf = (line: string): readonly string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain);

async function payonce(words: string, environment: Readonly<Record<string, string>> = {}) {
  process.env = { ...BARE, ...environment };
  const printed: string[] = [];
  const program = payonceProgram({ print: (text) => printed.push(text), isTerminal: false, freshKey: () => 'key' });
  const error: unknown = await program
    .parseAsync(['--directory', directory, ...wordsOf(words.replace('global-bundle.pem', EXISTING))], { from: 'user' })
    .catch((thrown: unknown) => thrown);
  const { exitCode: code, sentence = '' } = endingOf(error);
  expect(sentence).not.toContain('\n');
  return { code, sentence, printed };
}

test.each([
  {
    words: ['tenants', 'list', '--local', '--json'],
    code: ExitCode.notFound,
    sentence: `No local stack runs in ${directory}: start it with "npm start".`,
  },
  {
    words: ['tenants', 'list'],
    code: ExitCode.unreachable,
    sentence: 'The service cannot be reached: connect ECONNREFUSED 127.0.0.1:65111',
  },
])(
  'the process exits with $code, and prints only one sentence, on standard error',
  async ({ words, code, sentence }) => {
    await expect(
      promisify(execFile)(process.execPath, [PAYONCE, '--directory', directory, ...words], {
        env: { ...BARE, ...WITH_CREDENTIALS, AWS_ENDPOINT_URL: 'http://127.0.0.1:65111' },
      }),
    ).rejects.toMatchObject({ code, stdout: '', stderr: `${sentence}\n` });
  },
  60_000,
);

test('the help of every command shows an example', async () => {
  const all = commandsOf(payonceProgram({ print: () => undefined, isTerminal: false, freshKey: () => '' }));
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(all.toSorted());
  for (const words of all) {
    const { printed } = await payonce(`${words} --help`);
    expect(printed.join('\n')).toContain(`Example: payonce ${`${words} ${EXAMPLES[words]}`.trim()}`);
  }
});

describe('every command fails with one sentence and the documented exit code:', () => {
  const all = commandsOf(payonceProgram({ print: () => undefined, isTerminal: false, freshKey: () => '' }))
    // These commands need no deployment.
    .filter((words) => !['completion', 'conform', 'cost', 'db check', 'db migrate', 'simulate'].includes(words))
    .map((words) => `${words} ${EXAMPLES[words] ?? ''}`.trim());

  const commands = sliceOf(all, 3);
  test.each(commands)('payonce %s --local --json without a local stack', async (command) => {
    expect(await payonce(`${command} --local --json`)).toEqual({
      code: ExitCode.notFound,
      sentence: `No local stack runs in ${directory}: start it with "npm start".`,
      printed: [],
    });
  });

  // `clock` works only on the local stack.
  const deployed = commands.filter((words) => !words.startsWith('clock '));
  test.each(deployed)('payonce %s without any setting', async (command) => {
    const { code, sentence, printed } = await payonce(command);
    expect({ code, printed }).toEqual({ code: ExitCode.settings, printed: [] });
    expect(sentence).toMatch(/^No (AWS region|key) is set: .+\.$/);
  });
});

describe('payonce', () => {
  test.each([
    ['no credentials', { AWS_REGION: 'eu-west-1' }, 'No AWS credentials were found'],
    ['an unknown profile', { AWS_REGION: 'eu-west-1', AWS_PROFILE: 'none' }, 'No AWS credentials were found'],
  ])('reports %s', async (_, environment, sentence) => {
    const ended = await payonce('tenants list', environment);
    expect(ended).toMatchObject({ code: ExitCode.settings, printed: [] });
    expect(ended.sentence).toMatch(new RegExp(`^${sentence}.+\\.$`));
  });

  test('uses the region of the profile if AWS_REGION is empty', async () => {
    // The SDK reads each file once per process, so only this test uses this file.
    const config = join(directory, 'config-with-region');
    writeFileSync(config, '[default]\nregion = eu-west-1\n');
    const environment = { ...WITH_CREDENTIALS, AWS_REGION: '', AWS_CONFIG_FILE: config };
    const ended = await payonce('tenants list', { ...environment, AWS_ENDPOINT_URL: 'http://127.0.0.1:65111' });
    expect(ended.sentence).toContain('connect ECONNREFUSED 127.0.0.1:65111');
  });

  test.each([
    ['region', { ...WITH_CREDENTIALS, AWS_REGION: 'eu west' }, 'The AWS region is wrong: Region not accepted: '],
    [
      'endpoint',
      { ...WITH_CREDENTIALS, AWS_ENDPOINT_URL: 'aws.example' },
      'The AWS endpoint aws.example is not a URL: correct AWS_ENDPOINT_URL, or endpoint_url of the profile.',
    ],
  ])('reports an invalid %s', async (_, environment, sentence) => {
    const ended = await payonce('tenants list', environment);
    expect(ended).toMatchObject({ code: ExitCode.settings, printed: [] });
    expect(ended.sentence).toContain(sentence);
  });

  test.each(['sk_test_secret\nmore', 'sk_ключ'])('reports the invalid API key %j without repeating it', async (key) => {
    expect(await payonce('jobs list --url http://127.0.0.1:65111', { PAYONCE_OPERATOR_KEY: key })).toEqual({
      code: ExitCode.settings,
      sentence: 'The key contains invalid characters.',
      printed: [],
    });
  });

  test('treats a blank API key as missing', async () => {
    const ended = await payonce('jobs list --url http://127.0.0.1:65111', { PAYONCE_OPERATOR_KEY: ' ' });
    expect(ended).toMatchObject({ code: ExitCode.settings, printed: [] });
    expect(ended.sentence).toMatch(/^No key is set: /);
  });

  test('uses the key of the local stack if the API key is blank, and removes white space around a given key', async () => {
    const local = { apiUrl: 'http://127.0.0.1:65111', apiKey: 'sk_test_local' };
    const session = { local: async () => local } as unknown as Session;
    const used = async (key: string) => {
      process.env = { ...BARE, PAYONCE_API_KEY: key };
      const command = new Command();
      addAccess(command, TENANT);
      return (await locate(session, command, TENANT)).key;
    };
    expect([await used(''), await used(' '), await used('\ufeffsk_test_own\n')]).toEqual([
      'sk_test_local',
      'sk_test_local',
      'sk_test_own',
    ]);
  });

  test.each([
    ['', 'No database is set: set PAYONCE_DATABASE_URL, or use --url or --secret.'],
    ['--url postgres://h/d', 'The database URL has no user.'],
  ])('reports missing database settings: %s', async (words, sentence) => {
    const ended = await payonce(`db check --role r ${words}`, { PAYONCE_DATABASE_URL: '' });
    expect(ended).toEqual({ code: ExitCode.settings, sentence, printed: [] });
  });

  test('reports an unreachable database', async () => {
    expect(await payonce('db check --role r --url postgres://u:p@127.0.0.1:65111/d')).toEqual({
      code: ExitCode.unreachable,
      sentence: 'The database at 127.0.0.1:65111 cannot be reached: connect ECONNREFUSED 127.0.0.1:65111',
      printed: [],
    });
  });

  test('reports an unreachable API', async () => {
    expect(await payonce('jobs list --key sk --url http://127.0.0.1:65111')).toEqual({
      code: ExitCode.unreachable,
      sentence: 'The service cannot be reached: connect ECONNREFUSED 127.0.0.1:65111',
      printed: [],
    });
  });

  test.each([
    [
      '',
      'payonce needs a command: keys, tenants, operators, limits, payments, orders, exports, parked, webhooks, listen, trigger, dead-letters, jobs, events, redrive, views, verify, tables, db, erase, annotate, api, activity, doctor, cost, simulate, clock, conform, completion (see --help).',
    ],
    ['keys', 'payonce keys needs a command: create, roll, revoke, list (see --help).'],
    ['kyes', "unknown command 'kyes' (Did you mean keys?)"],
    ['keys list', "required option '--tenant <id>' not specified"],
    ['simulate --seed x', "option '--seed <number>': x is not a whole number."],
    ['simulate --histories 0.5', "option '--histories <count>': 0.5 is not a whole number."],
    ['keys list --tenant x', "option '--tenant <id>': x is not a tenant id. Example: ten_…."],
    [
      'keys create --tenant ten_a --name shop --scopes root',
      "option '--scopes <list>': root is not a scope; the scopes are payments:read,",
    ],
    ['views rebuild --segments 0', "option '--segments <count>': 0 is not a whole number from 1 to 64."],
    [
      'jobs list --url localhost:8080',
      "option '--url <address>': localhost:8080 is not a URL. Example: https://api.example.",
    ],
    [
      'events republish --created-from then',
      "option '--created-from <seconds>': then is not a time in Unix seconds. Example: 1772366400.",
    ],
    [
      'events republish --created-from 1772452800 --created-to 1772366400',
      'The range is empty: --created-to must be later than --created-from.',
    ],
    ['verify --from 1772452800 --to 1772366400', 'The range is empty: --from must be earlier than --to, and than now.'],
    ['verify --from 9999999999', 'The range is empty: --from must be earlier than --to, and than now.'],
    [
      'tables restore --to 1772366400 --only ledger,books',
      "option '--only <tables>': ledger,books is not a comma-separated list of these tables: idempotency, ledger, registry, views.",
    ],
    [
      `doctor --probe --key sk_live_${'x'.repeat(32)}`,
      "option '--key <key>': the probes make payments: use a test-mode API key, sk_test_….",
    ],
    ['tenants list --stack Books', 'Books is not a stack of Payonce: stack names end in PayonceArchive, '],
    [
      'tenants list --stack a-PayonceData --environment b',
      'The stack a-PayonceData does not belong to the environment b',
    ],
    [
      'listen --forward-to localhost',
      "option '--forward-to <address>': localhost is not a URL. Example: http://localhost:3000.",
    ],
    ['trigger payment.x --local', 'payment.x cannot be triggered: the events are payment.processing, '],
    [
      'trigger payment.completed --set amount',
      'amount is not a field. Expected name=value, for example metadata.order=42.',
    ],
    ['db check --url postgres://u:p@h/d', "required option '--role <name>' not specified"],
    ['db check --role r --url postgres://u:p@h/d --secret s', 'Use either --url or --secret, not both.'],
    ['db check --role r --port 0', "option '--port <number>': 0 is not a port."],
    ['db check --role r --ca missing.pem', "option '--ca <file>': there is no file missing.pem."],
    ['conform processor.example', 'processor.example is not a URL. Example: https://processor.example.'],
    ['conform https://processor.example --callback-port 8080', 'With --callback-port, set --callback-secret'],
    ['conform https://processor.example --without hold', 'it must be one or several of holds, partial-captures,'],
    ['completion powershell', 'powershell is not a supported shell: bash, zsh, fish.'],
    ['payments decide pay_a --outcome failed', "required option '--reason <text>' not specified"],
    ['tenants list --all', "unknown option '--all'"],
    ['--all tenants list', "unknown option '--all'"],
    ['-x tenants list', "unknown option '-x'"],
    ['-c payonce:sandbox=true doctor', 'Write -c after the command that it belongs to'],
    ['--url https://api.example jobs list', 'Write --url after the command that it belongs to'],
    ['jobs --wait run resolve', 'Write --wait after the command that it belongs to'],
    ['exports list --mode live', '--mode needs --tenant.'],
    ['api GET /v1/payments --mode test', '--mode needs --tenant.'],
    ['activity list --mode live', '--mode needs --tenant.'],
    ['activity verify --mode live', '--mode needs --tenant.'],
  ])('refuses "%s"', async (words, sentence) => {
    const ended = await payonce(words);
    expect(ended).toMatchObject({ code: ExitCode.usage, printed: [] });
    expect(ended.sentence).toContain(sentence);
  });
});

// Not every system has /dev/full.
(existsSync('/dev/full') ? test : test.skip)(
  'the process fails if its result cannot be written',
  async () => {
    const ended = await promisify(execFile)('sh', ['-c', '"$0" "$1" --help > /dev/full', process.execPath, PAYONCE], {
      env: BARE,
    }).catch((error: unknown) => error);
    expect(ended).toMatchObject({
      code: ExitCode.incomplete,
      stderr: 'The result cannot be written: ENOSPC: no space left on device, write\n',
    });
  },
  60_000,
);

describe('errors of AWS and of the command line:', () => {
  let endpoint = '';
  let answer: { readonly status: number; readonly code: string; readonly message: string };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status, { 'content-type': 'text/xml' });
    response.end(
      `<ErrorResponse><Error><Code>${answer.code}</Code><Message>${answer.message}</Message></Error></ErrorResponse>`,
    );
  });
  beforeAll(async () => {
    endpoint = await listenOnLoopback(server);
  });
  afterAll(() => stopListening(server));

  test.each([
    [
      'ValidationError',
      'Stack with id PayonceData does not exist',
      ExitCode.notFound,
      'There is no stack PayonceData in eu-west-1: deploy it',
    ],
    [
      'ExpiredToken',
      'The security token included in the request is expired',
      ExitCode.settings,
      'AWS does not accept the credentials: The security',
    ],
    [
      'AccessDenied',
      'User ada is not authorized',
      ExitCode.refused,
      'AWS refused the request (AccessDenied): User ada is not authorized',
    ],
  ])('%s is reported in one sentence', async (code, message, exitCode, sentence) => {
    answer = { status: 400, code, message };
    const ended = await payonce('tenants list', { ...WITH_CREDENTIALS, AWS_ENDPOINT_URL: endpoint });
    expect(ended).toMatchObject({ code: exitCode, printed: [] });
    expect(ended.sentence).toContain(sentence);
  });

  test('an internal error is reported in one sentence', () => {
    expect(endingOf(new TypeError('x is not a function\n    at code'))).toEqual({
      exitCode: ExitCode.internal,
      sentence: 'Internal error: x is not a function (NODE_DEBUG=payonce shows the stack).',
    });
  });
});
