import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { callbackReceiver } from '../../cli/conform.ts';
import { type Answered, conform, POINTS, type Subject } from '../../cli/conformance.ts';
import { callSandbox } from '../sandbox/sandbox-calls.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { createTestSandbox, SANDBOX_SECRET } from '../sandbox/sandbox-world.ts';
import { emptyBooks } from '../world/sandbox-books.ts';

const ACCESS = 'access-secret';
const PATIENCE_MS = 20_000;

let receive: (signature: string, body: Buffer) => number;
const server = createServer((request, response) => {
  void (async () => {
    response.writeHead(receive(String(request.headers['sandbox-signature']), await buffer(request))).end();
  })();
});
let address: string;
beforeAll(async () => {
  address = await listenOnLoopback(server);
});
afterAll(async () => {
  server.closeAllConnections();
  await stopListening(server);
});

type Ask = Subject['ask'];
type Part = Readonly<Record<string, unknown>>;

/** How a processor is wrong in one point. */
interface Wrong {
  readonly ask?: (ask: Ask) => Ask;
  /** The answer to a callback that its receiver refused. */
  readonly takesRefusal?: true;
}

/** The sandbox, as a processor of somebody's own, and the suite that examines it. */
function subject({ ask: wrongly = (ask) => ask, takesRefusal }: Wrong = {}): Subject {
  const sandbox = createTestSandbox(emptyBooks(), undefined, 'c', [ACCESS]);
  sandbox.address = address;
  const receiver = callbackReceiver(SANDBOX_SECRET, PATIENCE_MS);
  receive = (signature, body) => {
    const status = receiver.receive(signature, body);
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
    callbacks: receiver.callbacks,
  };
}

/** Changes the good answers to calls whose path fits. */
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
/** Every call has another key. */
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

const examined = async (wrong?: Wrong) => conform(subject(wrong), () => undefined);

describe('payonce conform', () => {
  test('the sandbox passes on each point', async () => {
    expect((await examined()).filter(({ result }) => result !== 'passed')).toEqual([]);
  });

  test('each point has a processor that is wrong in it', () => {
    expect(Object.keys(WRONG)).toEqual(POINTS.map(({ name }) => name));
  });

  test.each(Object.entries(WRONG))('a processor that is wrong fails in: %s', async (name, wrong) => {
    const failed = (await examined(wrong)).filter(({ result }) => result === 'failed');
    expect(failed.map(({ point }) => point)).toContain(name);
  });

  test('a look-up that lags is awaited as long as it was declared, and no longer', async () => {
    const lagging = (lagMs: number): Subject => {
      const right = subject();
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
      (await conform(lagging(lagMs), () => undefined))
        .filter(({ result }) => result === 'failed')
        .map(({ point }) => point);
    expect(await failed(5_000)).toEqual([]);
    expect(await failed(0)).toContain('look-up');
  });

  test('what cannot be examined is said', async () => {
    const { callbacks: _, ...silent } = subject();
    const findings = await conform({ ...silent, isSigned: false }, () => undefined);
    expect(findings.filter(({ result }) => result === 'skipped').map(({ point }) => point)).toEqual([
      'signature',
      'callback',
      'dispute',
    ]);
  });
});
