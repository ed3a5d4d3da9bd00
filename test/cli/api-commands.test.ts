import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { payonceProgram } from '../../cli/program.ts';
import { SCENARIOS } from '../../cli/trigger.ts';
import { verifyWebhook } from '../../client/webhooks.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { API_KEY, Api, OPERATOR_KEY } from '../world/api.ts';

let harness: Api;
let url: string;
let printed: string[];
let directory: string;
/** Statuses of the next answers, returned without calling the harness. Status 0 breaks the connection. */
let outage: readonly number[];

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [status, ...later] = outage;
  outage = later;
  if (status === 0) return void request.socket.destroy();
  if (status !== undefined && status !== 200) return void response.writeHead(status).end();
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const body = await text(request);
  const event = { body: body === '' ? null : body, headers, multiValueHeaders: {} };
  const reply = await harness.ask(request.method ?? '', request.url ?? '', { event });
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
  harness = new Api();
  outage = [];
  directory = mkdtempSync(join(tmpdir(), 'payonce-cli-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

let keys = 0;
async function run(...words: readonly string[]): Promise<readonly string[]> {
  printed = [];
  const key = words.includes('decide') || words.includes('timeline') || words[0] === 'parked' ? OPERATOR_KEY : API_KEY;
  const program = payonceProgram({
    print: (lines) => printed.push(...lines.split('\n')),
    isTerminal: false,
    freshKey: () => `key-${(keys += 1)}`,
  });
  await program.parseAsync(['--directory', directory, ...words, '--url', url, '--key', key], { from: 'user' });
  return printed;
}
const ending = async (...words: readonly string[]) => endingOf(await run(...words).catch((error: unknown) => error));
const cells = (line: string | undefined): readonly string[] => line?.split(/ {2,}/) ?? [];
const triggered = async (event: string, ...words: readonly string[]): Promise<string> => {
  const [line = ''] = await run('trigger', event, ...words);
  return /^((?:pay|ref|can|ord)_\w+)/.exec(line)?.[1] ?? line;
};

describe('payonce payments', () => {
  test('list, show and timeline print the history of a payment', async () => {
    const id = await triggered('payment.completed', '--set', 'amount=500', '--set', 'reference=order-42');
    const [headings, line] = await run('payments', 'list', '--status', 'succeeded');
    expect(cells(headings)).toEqual(['PAYMENT', 'STATUS', 'AMOUNT', 'CREATED', 'CHARGE', 'REFERENCE']);
    expect(cells(line)).toMatchObject([
      id,
      'succeeded',
      '5.00 EUR',
      expect.anything(),
      expect.stringMatching(/^ch_/),
      'order-42',
    ]);
    expect((await run('payments', 'show', id)).slice(1).map(cells)).toEqual([cells(line)]);
    const steps = (await run('payments', 'timeline', id)).slice(1).map(cells);
    expect(steps.map(([, step, kind]) => [step, kind])).toEqual([
      ['1', 'claim'],
      ['1', 'transition'],
      ['1', 'call'],
      ['2', 'transition'],
      ['1', 'answer'],
      ['2', 'event'],
    ]);
    expect(steps[2]?.[3]).toMatch(/call=send result=succeeded duration_ms=\d+/);
    expect(steps[3]?.[3]).toMatch(/type=payment\.completed status=succeeded by request/);
    expect(await run('payments', 'list', '--status', 'failed')).toEqual(['No payments.']);
  });

  test('decide parses the amount in the payment’s currency, and compares it with the processor', async () => {
    const id = await harness.paid('k', { source: 'tok_async' });
    const [charge] = harness.processor.charges(id);
    await harness.processor.inside.correct(charge?.chargeId ?? '', { status: 'succeeded', amount_captured: 600 });
    await harness.world.learn(id);
    const reason = ['--reason', 'Seen'];
    const decide = (...words: readonly string[]) => [
      'payments',
      'decide',
      id,
      '--outcome',
      'succeeded',
      ...reason,
      ...words,
    ];
    for (const amount of ['6,00', '1e3', '0x10', '6.001'])
      expect(await ending(...decide('--amount', amount))).toEqual({
        exitCode: ExitCode.usage,
        sentence: '--amount must be an amount in EUR without separators, for example 600.00.',
      });
    const differs = await ending(...decide('--amount', '5'));
    expect(differs.sentence).toContain('amount_differs_from_processor: The processor shows 6.00 EUR captured');
    const overridden = await ending(...decide('--amount', '6.00', '--override'));
    expect(overridden.sentence).toContain('override_not_allowed');
    expect(await run(...decide('--amount', '6.00'))).toEqual([`${id} is succeeded.`]);
  });

  test('decide refuses a payment that is not in review', async () => {
    const id = await triggered('payment.completed');
    const { exitCode, sentence } = await ending('payments', 'decide', id, '--outcome', 'failed', '--reason', 'test');
    expect(exitCode).toBe(ExitCode.refused);
    expect(sentence).toMatch(/^payment_not_in_review: /);
  });

  test('commands report an unknown payment as not found', async () => {
    expect(await ending('payments', 'show', `pay_${'a'.repeat(32)}`)).toMatchObject({ exitCode: ExitCode.notFound });
  });
});

describe('payonce trigger', () => {
  test.each(Object.entries(SCENARIOS).filter(([event, { bank }]) => !event.startsWith('order.') && bank === undefined))(
    '%s creates a matching payment',
    async (event) => {
      const [line] = await run('trigger', event);
      const [, status] = / is (\w+)\. The event /.exec(line ?? '') ?? [];
      const expected: Readonly<Record<string, string>> = {
        'payment.processing': 'processing',
        'payment.review_required': 'processing',
        'payment.requires_action': 'requires_action',
        'payment.authorized': 'requires_capture',
        'payment.completed': 'succeeded',
        'payment.failed': 'failed',
        'payment.canceled': 'canceled',
        'refund.completed': 'succeeded',
        'dispute.opened': 'succeeded',
      };
      expect(status).toBe(expected[event]);
    },
  );

  test('sets fields', async () => {
    const id = await triggered('payment.completed', '--set', 'metadata.order=42', '--set', 'currency=JPY', '--json');
    expect(JSON.parse(printed.join('\n'))).toMatchObject({ currency: 'JPY', metadata: { order: '42' } });
    expect(id).toBe('{');
  });
});

describe('payonce parked', () => {
  test('lists the queues, and the entries of a queue', async () => {
    const lines = (await run('parked', 'list')).map(cells);
    expect(lines[0]).toEqual(['QUEUE', 'WAITING', 'OLDEST', 'WHAT']);
    expect(lines.length).toBeGreaterThan(4);
    const [queue = ''] = lines[1] ?? [];
    expect(await run('parked', 'list', queue)).toEqual(['Nothing waits.']);
    expect(await ending('parked', 'list', 'nothing')).toMatchObject({ exitCode: ExitCode.notFound });
  });
});

describe('payonce listen', () => {
  const received: { readonly id: string; readonly type: string }[] = [];
  let answers: number[];
  let receiver: string;
  const secret = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`;
  const shop = createServer((request, response) => {
    void (async () => {
      const { id, type } = await verifyWebhook(await text(request), request.headers, { secrets: [secret] });
      const status = answers.shift() ?? 204;
      if (status < 300) received.push({ id, type });
      response.writeHead(status).end();
    })();
  });
  beforeAll(async () => {
    receiver = await listenOnLoopback(shop);
  });
  afterAll(async () => {
    shop.closeAllConnections();
    await stopListening(shop);
  });
  beforeEach(() => {
    received.length = 0;
    answers = [];
  });
  const words = ['listen', '--forward-to', '', '--secret', secret, '--once'];
  const listen = (...more: readonly string[]) => [...words.with(2, receiver), ...more];
  /** Advances the clock past the maximum lateness of an event, then triggers the event. */
  const happens = async (event: string) => {
    harness.world.clock.advance(20 * 60_000);
    await run('trigger', event);
  };
  const types = () => received.map(({ type }) => type);

  test('posts each event once, signed, and continues where it was stopped', async () => {
    await happens('payment.completed');
    await happens('payment.failed');
    await run(...listen('--from', '1'));
    expect(types()).toEqual(['payment.completed', 'payment.failed']);
    await run(...listen());
    await happens('refund.completed');
    await run(...listen());
    await run(...listen());
    expect(types().toSorted()).toEqual([
      'payment.completed',
      'payment.completed',
      'payment.failed',
      'refund.completed',
    ]);
    expect(new Set(received.map(({ id }) => id)).size).toBe(4);
  });

  test('posts only the rejected event a second time', async () => {
    await happens('payment.completed');
    await happens('payment.failed');
    answers = [500];
    expect(await ending(...listen('--from', '1'))).toEqual({
      exitCode: ExitCode.incomplete,
      sentence: `1 events were not accepted by ${receiver}.`,
    });
    expect(types()).toEqual(['payment.failed']);
    await run(...listen());
    await run(...listen());
    expect(types()).toEqual(['payment.failed', 'payment.completed']);
  });

  test('continues after an outage of the API, and stops when the key is refused', async () => {
    await happens('payment.completed');
    outage = [200, 503, 0, 401];
    const untilStopped = listen('--from', '1').filter((word) => word !== '--once');
    expect(await ending(...untilStopped)).toEqual({ exitCode: ExitCode.refused, sentence: 'The API answered 401.' });
    expect([types(), outage]).toEqual([['payment.completed'], []]);
  });
});

describe('payonce completion', () => {
  test.each(['bash', 'zsh', 'fish'])('for %s contains commands and options', async (shell) => {
    const lines: string[] = [];
    const program = payonceProgram({ print: (each) => lines.push(each), isTerminal: false, freshKey: () => '' });
    await program.parseAsync(['completion', shell], { from: 'user' });
    for (const word of ['payments', 'timeline', 'scheduled-for', 'environment'])
      expect(lines.join('\n')).toContain(word);
  });
});
