/** Tests the guarantee "safe client". */
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from '../../client/client.ts';
import { fileKeys } from '../../client/file-keys.ts';
import { listenerOf } from '../../examples/listener.ts';
import { PROJECT } from '../../local/directories.ts';
import { selfMadeCertificate } from '../../local/self-made-certificate.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { inTurn, SLICE_OF_CASES, sliceOf, whole } from '../support/slice.ts';
import { API_KEY, Api } from '../world/api.ts';
import { findingsIn, installed, lives, type Plan, python } from './python-lives.ts';

const STORES = ['file', 'sqlite'] as const;

let folder: string;
let server: Server;
const api = new Api();
beforeAll(async () => {
  folder = bundleFolder('python');
  server = createServer(listenerOf(api.fetch)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

let played = 0;
async function survey(plan: Pick<Plan, 'store' | 'points' | 'crashes'> & Partial<Plan>) {
  played += 1;
  const histories = await lives({
    url: url(),
    api_key: API_KEY,
    folder: join(folder, `plan-${played}`),
    source: 'tok_ok',
    amount: 1_000_000 * played,
    ...plan,
  });
  const charged = api.processor.inside.all.map(({ amountMinor }) => amountMinor);
  return { findings: findingsIn(histories, charged), histories: histories.length };
}

test('the unit tests of the Python client pass', async () => {
  expect(await python(['-m', 'unittest', 'discover', '--start-directory', 'tests'])).toContain('\nOK\n');
});

describe('a Python process that crashes and restarts', () => {
  const CRASHES = whole(2, { slice: 1 });
  const plans = STORES.flatMap((store) =>
    ['tok_ok', 'tok_declined', 'tok_timeout_charged', 'tok_rate_limited'].map((source) => ({ store, source })),
  );

  test.each(sliceOf(plans, 5))(
    'charges $source once and gets one response after a crash between any two steps, with its keys in $store',
    async (plan) => {
      // The clock of the handlers stands still during pauses, so a hundredth of each pause has the same effect.
      const { findings, histories } = await survey({ ...plan, points: 'steps', crashes: CRASHES, waitFactor: 0.01 });
      expect(findings).toEqual([]);
      // A process can crash before and after each of three actions, which store the key, send the request and store the
      // response.
      expect(histories).toBeGreaterThanOrEqual(6);
    },
  );

  test.each(STORES)('corrects a refused body and charges once, with its keys in %s', async (store) => {
    const { findings, histories } = await survey({ store, points: 'steps', crashes: CRASHES, corrects: true });
    expect(findings).toEqual([]);
    // The steps that store the key, send the request and store the refusal precede those of a payment.
    expect(histories).toBeGreaterThanOrEqual(12);
  });

  test.each(sliceOf(STORES, 2))(
    'charges once if it crashes at any line of the client, with its keys in %s',
    async (store) => {
      const parts = whole(1, { slice: 21 });
      const { findings, histories } = await survey({ store, points: 'lines', crashes: 1, parts, part: SLICE_OF_CASES });
      expect(findings).toEqual([]);
      expect(histories * parts).toBeGreaterThan(150);
    },
  );

  test.each(sliceOf(['late', 'forgetful'] as const, 2))('charges twice with the faulty store "%s"', async (store) => {
    const { findings } = await survey({ store, points: 'steps', crashes: 1 });
    expect(findings.filter((each) => each.startsWith('2 charges'))).not.toEqual([]);
  });
});

test.each(sliceOf(STORES, 2))(
  'concurrent Python processes charge once and get one response, with their keys in %s',
  async (store) => {
    const rounds = whole(50, { slice: 3 });
    const { findings } = await survey({ store, points: 'steps', crashes: 0, racers: 3, rounds });
    expect(findings).toEqual([]);
  },
);

test('an operation that one client began can be continued by the client in the other language', async () => {
  const plan = {
    store: 'file',
    points: 'steps',
    crashes: 1,
    source: 'tok_ok',
    amount: 7_000,
    folder: join(folder, 'both'),
    url: url(),
    api_key: API_KEY,
  } as const;
  const keys = join(plan.folder, 'keys');
  const client = createClient({ url: url(), apiKey: API_KEY, keys: fileKeys(keys) });
  const create = (amount: number) =>
    client.payments.create({ source: 'tok_ok', currency: 'EUR', amount }, { operation: `${plan.folder} ${amount}` });
  // The TypeScript client begins the first history, and continues the others.
  const first = await create(plan.amount);
  const histories = await lives(plan);
  expect(histories.map(({ outcomes }) => outcomes[0]?.id)).toEqual(
    await Promise.all(histories.map(async ({ amount }) => (await create(amount)).id)),
  );
  expect(histories[0]?.outcomes[0]?.id).toBe(first.id);
  expect(readdirSync(keys).filter((name) => name.endsWith('.json'))).toHaveLength(histories.length + 1);
});

test('over TLS, only a server with a trusted certificate and the right name gets a request', async () => {
  const { key, cert } = selfMadeCertificate('localhost');
  const listen = listenerOf(api.fetch);
  let requests = 0;
  const secure = createSecureServer({ key, cert }, (request, response) => {
    requests += 1;
    listen(request, response);
  }).listen(0, '127.0.0.1');
  await once(secure, 'listening');
  const { port } = secure.address() as AddressInfo;
  const paying = [
    'import json, ssl, sys, payonce',
    'port, key, certificate = json.load(sys.stdin)',
    'trusted = ssl.create_default_context(cadata=certificate)',
    'trusted.verify_flags &= ~ssl.VERIFY_X509_STRICT',
    'def pay(host, transport):',
    '    around = payonce.Surroundings(transport=transport)',
    '    client = payonce.Client(f"https://{host}:{port}", api_key=key, keys=payonce.MemoryKeys(), surroundings=around)',
    '    params = {"amount": 3000, "currency": "EUR", "source": "tok_ok"}',
    '    try:',
    '        print(client.payments.create(params, operation="order_42")["status"])',
    '    except payonce.PayonceError as error:',
    '        print(error.code, error.may_have_taken_effect, type(error.__cause__).__name__)',
    'pay("127.0.0.1", payonce.HttpTransport(trusted))',
    'pay("localhost", payonce.HttpTransport())',
    'pay("localhost", payonce.HttpTransport(trusted))',
  ].join('\n');
  const said = await python(['-c', paying], { input: JSON.stringify([port, API_KEY, cert]) });
  secure.close();
  const refused = 'no_connection False SSLCertVerificationError';
  expect(said.trim().split('\n')).toEqual([refused, refused, 'succeeded']);
  expect(requests).toBe(1);
});

inTurn(test, { place: 2, of: 8, otherwise: test.skip })(
  'the wheel installs in an empty environment without an index, and pays',
  async () => {
    const wheels = join(folder, 'wheels');
    mkdirSync(wheels);
    const wheel = join(wheels, (await python(['build_backend.py', wheels])).trim());
    const program = await installed(wheel, join(folder, 'environment'));
    const paying = [
      'import importlib.metadata, json, sys, payonce',
      'url, key, folder = json.load(sys.stdin)',
      'client = payonce.Client(url, api_key=key, keys=payonce.FileKeys(folder))',
      'paid = client.payments.create({"amount": 2000, "currency": "EUR", "source": "tok_ok"}, operation="order_42")',
      'print(paid["status"], importlib.metadata.version("payonce"), payonce.__file__)',
    ].join('\n');
    const input = JSON.stringify([url(), API_KEY, join(folder, 'own')]);
    const [status, version, file] = (await python(['-c', paying], { program, path: [], input })).trim().split(' ');
    const project = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { readonly version: string };
    expect([status, version]).toEqual(['succeeded', project.version]);
    expect(file).toContain(join(folder, 'environment'));
    for (const path of ['py.typed', `../payonce-${version}.dist-info/LICENSE`])
      expect(existsSync(join(dirname(String(file)), path))).toBe(true);
  },
);
