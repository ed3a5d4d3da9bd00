import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { previewLines } from '../../cli/payments.ts';
import { payonceProgram } from '../../cli/program.ts';
import { SCENARIOS } from '../../cli/trigger.ts';
import { verifyWebhook } from '../../client/webhooks.ts';
import { MemoryMessages } from '../operators/memory-messages.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { API_KEY, Api, OPERATOR_KEY } from '../world/api.ts';
import { apiServer } from './api-over-http.ts';

let harness: Api;
let url: string;
let printed: string[];
let noted: string[];
let directory: string;
/**
 * The test server returns these statuses for the next requests. For status 200, it calls the API. For status 0, it
 * breaks the connection.
 */
let outage: readonly number[];

const server = apiServer(
  () => harness,
  (request, response) => {
    const [status, ...later] = outage;
    outage = later;
    if (status === undefined || status === 200) return false;
    if (status === 0) request.socket.destroy();
    else response.writeHead(status).end();
    return true;
  },
);

beforeAll(async () => {
  url = await listenOnLoopback(server);
});
afterAll(() => stopListening(server));
beforeEach(() => {
  harness = new Api();
  outage = [];
  directory = mkdtempSync(join(tmpdir(), 'payonce-cli-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

let keys = 0;
async function run(...words: readonly string[]): Promise<readonly string[]> {
  printed = [];
  noted = [];
  const isOperators = ['api', 'annotate', 'parked'].includes(words[0] ?? '') || /decide|timeline/.test(words[1] ?? '');
  const key = isOperators ? OPERATOR_KEY : API_KEY;
  const program = payonceProgram({
    print: (lines) => printed.push(...lines.split('\n')),
    note: (line) => noted.push(line),
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
  test('list and show print the state of a payment, and timeline prints its history', async () => {
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

  test('decide parses the amount in the currency of the payment, and compares it with the amount at the processor', async () => {
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
    const [outcome, headings, ...postings] = await run(...decide('--amount', '6.00', '--dry-run'));
    expect(outcome).toBe(`Dry run: the status of ${id} would become succeeded, without an approval.`);
    expect(cells(headings)).toEqual(['ACCOUNT', 'DIRECTION', 'AMOUNT']);
    expect(postings.map(cells)).toContainEqual(['processor_clearing', 'debit', '6.00 EUR']);
    expect(await run(...decide('--amount', '6.00'))).toEqual([`${id} is succeeded.`]);
  });

  test('a dry run of decide with the outcome failed shows that the decision posts nothing and needs an approval', () => {
    const document = { payment: 'pay_a', payment_status: 'failed', needs_approval: true, postings: [] };
    expect(previewLines(document)).toEqual([
      'Dry run: the status of pay_a would become failed, once a second person approves.',
      'No postings.',
    ]);
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

describe('payonce annotate', () => {
  test('annotates a payment, or one of its transitions', async () => {
    const id = await triggered('payment.completed');
    const [line] = await run('annotate', id, '--reason', 'The payer called', '--transition', '2');
    expect(line).toMatch(/^ann_\w+ is transition 3: about transition 2, by .+, \d{4}-.+Z\.$/);
    expect(await run('annotate', id, '--reason', 'Test')).toEqual([
      expect.stringContaining(': about the payment, by '),
    ]);
  });
});

describe('payonce api', () => {
  const api = (...words: readonly string[]) => run('api', ...words);

  test('sends one request with its query string, and prints the response as JSON', async () => {
    expect(JSON.parse((await api('get', '/v1/admin/queues/claims?limit=1')).join('\n'))).toMatchObject({
      object: 'list',
    });
    expect(noted).toEqual([]);
  });

  test('calls a tenant route for the given tenant and mode', async () => {
    const id = await triggered('payment.completed');
    const ofTenant = ['--tenant', 'ten_desk', '--mode', 'test'];
    expect(JSON.parse((await api('GET', `/v1/payments/${id}`, ...ofTenant)).join('\n'))).toMatchObject({ id });
    expect(await ending('api', 'GET', `/v1/payments/${id}`, '--tenant', 'ten_desk', '--mode', 'live')).toMatchObject({
      exitCode: ExitCode.notFound,
    });
  });

  test('requires --tenant if an operator calls a tenant route', async () => {
    expect(await ending('api', 'GET', '/v1/payments')).toEqual({
      exitCode: ExitCode.refused,
      sentence: 'An operator calls /v1/payments for a tenant: add --tenant <id>.',
    });
  });

  test('prints the idempotency key before it sends a POST; a retry with that key gets the same response', async () => {
    const id = await triggered('payment.completed');
    const path = `/v1/admin/payments/${id}/annotations`;
    const words = ['POST', path, '--data', '{"reason":"The payer called"}'];
    outage = [503];
    expect(await ending('api', ...words)).toMatchObject({ exitCode: ExitCode.refused });
    const [, key = ''] = /^The idempotency key is (\S+)\.$/.exec(noted.join('\n')) ?? [];
    const first = await api(...words, '--idempotency-key', key);
    expect(noted).toEqual([]);
    expect(await api(...words, '--idempotency-key', key)).toEqual(first);
    expect(await api(...words)).not.toEqual(first);
  });

  test('names the invalid field and the reason', async () => {
    const id = await triggered('payment.completed');
    const annotate = (data: string) => ending('api', 'POST', `/v1/admin/payments/${id}/annotations`, '--data', data);
    expect((await annotate('{}')).sentence).toMatch(/^invalid_request: reason is missing: it .+/);
    expect((await annotate('{"reason":"Test","colour":"red"}')).sentence).toMatch(
      /^unknown_field: The field colour is unknown/,
    );
  });

  test.each([
    [['PUT', '/v1/payments'], 'PUT is not one of GET, POST, PATCH, DELETE.'],
    [['GET', 'v1/payments'], 'v1/payments is not a path of the API. Example: /v1/admin/mismatches?limit=5.'],
    [['POST', '/v1/exports', '--data', '[1]'], 'it must be a JSON object'],
    [['GET', '/v1/payments', '--data', '{}'], 'A GET request has no body: omit --data.'],
    [['PATCH', '/v1/x', '--idempotency-key', 'k'], 'A PATCH request has no idempotency key: omit --idempotency-key.'],
    [['POST', '/v1/exports', '--idempotency-key', 'a b'], 'a key is 1 to 128 visible ASCII characters'],
  ])('refuses %j before any request', async (words, sentence) => {
    expect(await ending('api', ...words)).toEqual({
      exitCode: ExitCode.usage,
      sentence: expect.stringContaining(sentence),
    });
    expect([harness.reports, noted]).toEqual([[], []]);
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

  test('sets the fields that --set names', async () => {
    const id = await triggered('payment.completed', '--set', 'metadata.order=42', '--set', 'currency=JPY', '--json');
    expect(JSON.parse(printed.join('\n'))).toMatchObject({ currency: 'JPY', metadata: { order: '42' } });
    expect(id).toBe('{');
  });
});

describe('payonce parked', () => {
  test('lists the queues, or the entries of one queue', async () => {
    const lines = (await run('parked', 'list')).map(cells);
    expect(lines[0]).toEqual(['QUEUE', 'WAITING', 'OLDEST', 'WHAT']);
    expect(lines.length).toBeGreaterThan(4);
    const [queue = ''] = lines[1] ?? [];
    expect(await run('parked', 'list', queue)).toEqual(['No entries.']);
    expect(await ending('parked', 'list', 'nothing')).toMatchObject({ exitCode: ExitCode.notFound });
  });

  test('redrives one or all messages of a queue, or dismisses one', async () => {
    const messages = new MemoryMessages(harness.clock);
    harness = harness.with({ messages });
    const queue = 'Webhooks-Tasks-DeadLetters';
    for (const id of ['a', 'b', 'c', 'd']) messages.arrive(queue, { id });
    harness.clock.advance(1_000);
    const [headings, first] = (await run('parked', 'list', queue)).map(cells);
    expect([headings?.at(-1), first?.at(-1)]).toEqual(['ENTRY', 'a']);
    expect(await run('parked', 'redrive', queue, '--entry', 'b')).toEqual(['b: moved to Webhooks-Tasks-Queue.']);
    expect(await run('parked', 'dismiss-message', queue, '--entry', 'c', '--reason', 'not_needed')).toEqual([
      `c of ${queue} is dismissed.`,
    ]);
    expect([messages.ids(queue), messages.ids('Webhooks-Tasks-Queue')]).toEqual([['a', 'd'], ['b']]);
    expect(await run('parked', 'redrive', queue)).toEqual([`2 messages of ${queue}: moved to Webhooks-Tasks-Queue.`]);
    expect(messages.ids(queue)).toEqual([]);
    expect(await ending('parked', 'redrive', queue, '--entry', 'b')).toMatchObject({
      sentence: expect.stringContaining('has no message b now'),
    });
  });
});

test('payonce parked dismiss-message without --entry dismisses the messages of Jobs-Missed about jobs of the deployment, and says so', async () => {
  const messages = new MemoryMessages(harness.clock);
  harness = harness.with({ messages });
  messages.arrive('Jobs-Missed', { id: 'own', part: 'resolve', job: 'resolve' });
  messages.arrive('Jobs-Missed', { id: 'of-shop', part: 'shop nightly' });
  harness.clock.advance(1_000);
  expect(await run('parked', 'dismiss-message', 'Jobs-Missed', '--reason', 'done_otherwise')).toEqual([
    'Each message of Jobs-Missed about a job of this deployment is dismissed.',
  ]);
  expect(messages.ids('Jobs-Missed')).toEqual(['of-shop']);
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
  afterAll(() => stopListening(shop));
  beforeEach(() => {
    received.length = 0;
    answers = [];
  });
  const words = ['listen', '--forward-to', '', '--secret', secret, '--once'];
  const listen = (...more: readonly string[]) => [...words.with(2, receiver), ...more];
  /** The delay with which an event can appear in the list is shorter than 20 minutes. */
  const happens = async (event: string) => {
    harness.world.clock.advance(20 * 60_000);
    await run('trigger', event);
  };
  const types = () => received.map(({ type }) => type);

  test('posts each event once with a signature, and continues where it stopped', async () => {
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

  test('posts only events of the given types, and refuses a type that does not exist, with an error that names it', async () => {
    await happens('payment.completed');
    await happens('payment.failed');
    await run(...listen('--from', '1', '--events', 'payment.failed,refund.completed'));
    await happens('refund.completed');
    await run(...listen('--events', 'refund.completed, payment.failed'));
    expect(types()).toEqual(['payment.failed', 'refund.completed']);
    expect(await ending(...listen('--events', 'payment.done'))).toMatchObject({
      exitCode: ExitCode.usage,
      sentence: expect.stringMatching(/payment\.done is not an event type\. The types are .*payment\.completed/),
    });
  });

  test('posts only rejected events a second time', async () => {
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

  test('continues after an outage of the API, and stops when the API refuses the key', async () => {
    await happens('payment.completed');
    outage = [200, 503, 0, 401];
    const untilStopped = listen('--from', '1').filter((word) => word !== '--once');
    expect(await ending(...untilStopped)).toEqual({
      exitCode: ExitCode.refused,
      sentence: 'The API returned HTTP 401.',
    });
    expect([types(), outage]).toEqual([['payment.completed'], []]);
  });
});

describe('payonce completion', () => {
  test.each(['bash', 'zsh', 'fish'])('prints a %s script with commands and options', async (shell) => {
    const lines: string[] = [];
    const program = payonceProgram({ print: (each) => lines.push(each), isTerminal: false, freshKey: () => '' });
    await program.parseAsync(['completion', shell], { from: 'user' });
    for (const word of ['payments', 'timeline', 'scheduled-for', 'environment'])
      expect(lines.join('\n')).toContain(word);
  });
});
