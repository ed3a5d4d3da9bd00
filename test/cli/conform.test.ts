import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { callbackReceiver, listenForCallbacks } from '../../cli/conform.ts';
import { type Answered, conform, type Finding, POINTS, type Subject } from '../../cli/conformance.ts';
import { payonceProgram } from '../../cli/program.ts';
import { giftCards } from '../../examples/gift-cards/gift-cards.ts';
import { listenerOf } from '../../examples/listener.ts';
import { MAX_CALLBACK_BYTES } from '../../lambdas/kernel/contract/limits.ts';
import {
  BOOKS_TIMEOUT_MS,
  LIST_TIMEOUT_MS,
  LOOKUP_TIMEOUT_MS,
  SEND_TIMEOUT_MS,
} from '../../lambdas/payments/use/processor.ts';
import { abilitiesWithout } from '../../lambdas/processors/sandbox/sandbox-abilities.ts';
import { callSandbox } from '../sandbox/sandbox-calls.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { createTestSandbox, SANDBOX_SECRET } from '../sandbox/sandbox-world.ts';
import { sliceOf } from '../support/slice.ts';
import { emptyBooks } from '../world/sandbox-books.ts';

const ACCESS = 'access-secret';
const PATIENCE_MS = 20_000;
/** The conformance suite makes charges of this amount. */
const WHOLE = 1_999;

let receive: Awaited<ReturnType<typeof callbackReceiver>>['receive'];
const server = createServer((request, response) => {
  void (async () => {
    response.writeHead(await receive(request.headersDistinct, await buffer(request))).end();
  })();
});
let address: string;
beforeAll(async () => {
  address = await listenOnLoopback(server);
});
afterAll(() => stopListening(server));

type Ask = Subject['ask'];
type Part = Readonly<Record<string, unknown>>;

interface Wrong {
  readonly ask?: (ask: Ask) => Ask;
  readonly takesRefusal?: true;
}

/** The sandbox has the role of the third-party processor that the suite examines. */
async function subject({ ask: wrongly = (ask) => ask, takesRefusal }: Wrong = {}): Promise<Subject> {
  const sandbox = createTestSandbox(emptyBooks(), undefined, 'c', [ACCESS]);
  sandbox.address = address;
  const receiver = await callbackReceiver('sandbox', SANDBOX_SECRET, PATIENCE_MS, sandbox);
  receive = async (headers, body) => {
    const status = await receiver.receive(headers, body);
    return takesRefusal === true && status === 500 ? 200 : status;
  };
  let keys = 0;
  const ask: Ask = async (method, path, { key, body, unsigned } = {}) => {
    const { pathname, searchParams } = new URL(path, 'http://sandbox.example');
    const answer = await callSandbox(sandbox.handler, {
      method,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: {
        ...(unsigned === undefined ? { authorization: `Bearer ${ACCESS}` } : {}),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: JSON.parse(answer.body) as unknown };
  };
  return {
    ask: wrongly(ask),
    freshKey: () => `key_${(keys += 1)}`,
    sources: { ok: 'tok_ok', declined: 'tok_declined', disputed: 'tok_dispute' },
    lagMs: 0,
    wait: async (milliseconds) => sandbox.runFor(milliseconds),
    isSigned: true,
    abilities: abilitiesWithout(),
    callbacks: receiver.callbacks,
  };
}

const answering =
  (fits: RegExp, change: (answer: Answered) => Answered): NonNullable<Wrong['ask']> =>
  (ask) =>
  async (method, path, asked) => {
    const answer = await ask(method, path, asked);
    return fits.test(`${method} ${path}`) ? change(answer) : answer;
  };
const withBody = (answer: Answered, changes: object): Answered =>
  answer.status < 300 ? { ...answer, body: { ...(answer.body as Part), ...changes } } : answer;
let fresh = 0;
const forgetting =
  (fits: RegExp): NonNullable<Wrong['ask']> =>
  (ask) =>
  async (method, path, asked = {}) =>
    ask(method, path, fits.test(`${method} ${path}`) ? { ...asked, key: `fresh_${(fresh += 1)}` } : asked);

const WRONG: Readonly<Record<string, Wrong>> = {
  health: { ask: answering(/^GET \/health/, (answer) => ({ ...answer, status: 503 })) },
  signature: {
    ask: (ask) => async (method, path, asked) => {
      const { key, body } = asked ?? {};
      return ask(method, path, { ...(key === undefined ? {} : { key }), ...(body === undefined ? {} : { body }) });
    },
  },
  charge: { ask: answering(/^POST \/charges$/, (answer) => withBody(answer, { metadata: {} })) },
  decline: {
    ask: answering(/^POST \/charges$/, (answer) => ({
      ...answer,
      status: answer.status === 402 ? 400 : answer.status,
    })),
  },
  key: { ask: forgetting(/^POST \/charges$/) },
  body: {
    ask: (ask) => async (method, path, asked) => {
      const answer = await ask(method, path, asked);
      if (answer.status !== 422 || path !== '/charges') return answer;
      const { body } = await ask('GET', `/charges?key=${asked?.key}`);
      return { status: 201, body: (body as { readonly data: readonly unknown[] }).data[0] };
    },
  },
  'look-up': { ask: answering(/^GET \/charges\?key=/, (answer) => withBody(answer, { data: [] })) },
  read: { ask: answering(/^GET \/charges\/ch_unknown/, (answer) => ({ ...answer, status: 500 })) },
  list: { ask: answering(/^GET \/charges\?created_from/, (answer) => withBody(answer, { data: [] })) },
  refund: { ask: forgetting(/^POST \/charges\/.*\/refunds$/) },
  capture: {
    ask:
      (ask) =>
      async (method, path, asked = {}) =>
        ask(method, path, path.endsWith('/capture') ? { ...asked, body: {} } : asked),
  },
  void: { ask: answering(/^POST \/charges\/.*\/void$/, (answer) => withBody(answer, { void_reason: null })) },
  callback: { takesRefusal: true },
  dispute: { ask: answering(/^GET \/charges\/ch_(?!unknown)/, (answer) => withBody(answer, { disputes: [] })) },
};

const examined = async (wrong?: Wrong) => conform(await subject(wrong), () => undefined);

describe('payonce conform', () => {
  test('passes the sandbox on every check', async () => {
    expect((await examined()).filter(({ result }) => result !== 'passed')).toEqual([]);
  });

  test('is tested with a violating processor for each of its checks', () => {
    expect(Object.keys(WRONG)).toEqual(POINTS.map(({ name }) => name));
  });

  test.each(sliceOf(Object.entries(WRONG), 4))('fails a processor that violates the check %s', async (name, wrong) => {
    const failed = (await examined(wrong)).filter(({ result }) => result === 'failed');
    expect(failed.map(({ point }) => point)).toContain(name);
  });

  test('tolerates a look-up that lags by at most the declared lag', async () => {
    const lagging = async (lagMs: number): Promise<Subject> => {
      const right = await subject();
      let waitedMs = 0;
      const known = new Map<string, number>();
      return {
        ...right,
        lagMs,
        wait: async (milliseconds) => {
          waitedMs += milliseconds;
          await right.wait(milliseconds);
        },
        ask: async (method, path, asked) => {
          const answer = await right.ask(method, path, asked);
          const list = (answer.body as { readonly data?: readonly { readonly id: string }[] }).data;
          if (!/\?(?:key|payment)=/.test(path) || list === undefined) return answer;
          const data = list.filter(
            ({ id }) => waitedMs - (known.get(id) ?? known.set(id, waitedMs).get(id) ?? 0) >= 2_000,
          );
          return { ...answer, body: { ...(answer.body as Part), data } };
        },
      };
    };
    const failed = async (lagMs: number) =>
      (await conform(await lagging(lagMs), () => undefined))
        .filter(({ result }) => result === 'failed')
        .map(({ point }) => point);
    expect(await failed(5_000)).toEqual([]);
    expect(await failed(0)).toContain('look-up');
  });

  /** The processor responds with 400 to requests that need an ability in `list`. */
  const lacking = (list: string) => {
    const lacks = (ability: string) => list.split(',').includes(ability);
    const known = new Set<string | undefined>();
    const needs = (path: string, { amount = WHOLE, capture }: { amount?: number; capture?: string }): boolean =>
      (lacks('holds') && capture === 'manual') ||
      (lacks('partial-captures') && path.endsWith('/capture') && amount < WHOLE) ||
      (lacks('refunds') && path.endsWith('/refunds')) ||
      (lacks('partial-refunds') && path.endsWith('/refunds') && amount < WHOLE);
    return subject({
      ask:
        (ask) =>
        async (method, path, asked = {}) => {
          const { key, body = {} } = asked;
          if (!known.has(key) && needs(path, body))
            return { status: 400, body: { error: { code: 'unsupported', message: 'It is not supported.' } } };
          known.add(key);
          return ask(method, path, asked);
        },
    });
  };
  /** The processor lacks the abilities in `list`, but is declared to lack those in `declared`. */
  const notPassed = async (list: string, declared: string) => {
    const findings = await conform(
      { ...(await lacking(list)), abilities: abilitiesWithout(declared) },
      () => undefined,
    );
    return findings.filter(({ result }) => result !== 'passed');
  };
  const skipped = (point: string, seen: string) => ({ point, result: 'skipped', seen });
  const failed = (point: string, seen: string) => ({ point, result: 'failed', seen: expect.stringContaining(seen) });
  const NO_HOLDS = [skipped('capture', 'the processor has no holds'), skipped('void', 'the processor has no holds')];

  test.each([
    ['holds', NO_HOLDS],
    ['partial-captures', []],
    ['refunds', [skipped('refund', 'the processor has no refunds')]],
    ['partial-refunds', []],
    ['holds,partial-refunds', NO_HOLDS],
  ])('tests a processor without %s only for its declared abilities', async (list, expected) => {
    expect(await notPassed(list, list)).toEqual(expected);
  });

  test.each([
    ['holds', [failed('capture', 'it returned 400: if it has no holds'), failed('void', 'it has no holds')]],
    ['partial-captures', [failed('capture', 'it returned 400: if it has no partial-captures')]],
    ['refunds', [failed('refund', 'it returned 400: if it has no partial-refunds')]],
    ['partial-refunds', [failed('refund', 'it returned 400: if it has no partial-refunds')]],
  ])('reports that a declared ability is missing: %s', async (list, expected) => {
    expect(await notPassed(list, '')).toEqual(expected);
  });

  test.each([
    ['holds', [failed('capture', 'it has holds'), NO_HOLDS[1]]],
    ['partial-captures', [failed('capture', 'it has partial-captures')]],
    ['refunds', [failed('refund', 'it has refunds')]],
    ['partial-refunds', [failed('refund', 'it has partial-refunds')]],
  ])('reports an ability that is declared to be missing: %s', async (declared, expected) => {
    expect(await notPassed('', declared)).toEqual(expected);
  });

  test('reports which checks it skipped', async () => {
    const { callbacks: _, ...silent } = await subject();
    const findings = await conform({ ...silent, isSigned: false }, () => undefined);
    expect(findings.filter(({ result }) => result === 'skipped').map(({ point }) => point)).toEqual([
      'signature',
      'callback',
      'dispute',
    ]);
  });
});

test.each([
  ['accepts', MAX_CALLBACK_BYTES, 200],
  ['refuses', MAX_CALLBACK_BYTES + 1, 413],
])(
  'the callback receiver of payonce conform %s a callback of %i bytes, as the service does',
  async (_does, bytes, expected) => {
    const receiving = await listenForCallbacks(async () => 200, 0);
    const { port } = receiving.address() as AddressInfo;
    const { status } = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: Buffer.alloc(bytes) });
    await stopListening(receiving);
    expect(status).toBe(expected);
  },
);

describe('the example of a third-party processor', () => {
  const SIGNING_KEY = `whsec_${Buffer.from('signing').toString('base64')}`;
  const CALLBACK_SECRET = `whsec_${Buffer.from('callback').toString('base64')}`;

  test('passes each check except the skipped one about disputes, over HTTP with Standard Webhooks callbacks, and deducts only spent and reserved money from its gift card', async () => {
    const database = new DatabaseSync(':memory:');
    const receiving = createServer();
    const callbackUrl = await listenOnLoopback(receiving);
    await stopListening(receiving);
    const { app, callBack } = giftCards({
      database,
      signingKey: SIGNING_KEY,
      callbacks: { url: callbackUrl, secret: CALLBACK_SECRET },
      livemode: false,
    });
    database.exec("INSERT INTO cards VALUES ('card_full', 'EUR', 1000000), ('card_empty', 'EUR', 0)");
    const processor = createServer(listenerOf(app.fetch));
    const url = await listenOnLoopback(processor);
    const calling = setInterval(() => void callBack(), 20);
    const printed: string[] = [];
    const limits = jest.spyOn(AbortSignal, 'timeout');
    const program = payonceProgram({ print: (text) => printed.push(text), isTerminal: false, freshKey: () => '' });
    await program
      .parseAsync(
        `conform ${url} --json --signing-key ${SIGNING_KEY} --source card_full --declined card_empty --callback-port ${new URL(callbackUrl).port} --callback-scheme standard-webhooks --callback-secret ${CALLBACK_SECRET} --patience 600`.split(
          ' ',
        ),
        { from: 'user' },
      )
      .finally(() => clearInterval(calling));
    await stopListening(processor);

    // The example's own requests also have time limits, so the list can contain further limits.
    const given = limits.mock.calls.map(([milliseconds]) => milliseconds);
    expect(given).toEqual(
      expect.arrayContaining([SEND_TIMEOUT_MS, LOOKUP_TIMEOUT_MS, BOOKS_TIMEOUT_MS, LIST_TIMEOUT_MS]),
    );
    limits.mockRestore();
    const { data } = JSON.parse(printed.join('\n')) as { readonly data: readonly Finding[] };
    expect(data.filter(({ result }) => result !== 'passed')).toEqual([
      { point: 'dispute', result: 'skipped', seen: expect.any(String) },
    ]);
    const charges = database
      .prepare('SELECT charge FROM charges')
      .all()
      .map((row) => JSON.parse(String(row['charge'])) as { status: string; amount: number } & Record<string, number>);
    const spent = charges.map(({ status, amount, amount_captured: captured = 0, amount_refunded: refunded = 0 }) =>
      status === 'authorized' ? amount : captured - refunded,
    );
    const { balance } = database.prepare("SELECT balance FROM cards WHERE id = 'card_full'").get() as {
      balance: number;
    };
    expect(balance).toBe(1_000_000 - spent.reduce((sum, each) => sum + each, 0));
  });
});
