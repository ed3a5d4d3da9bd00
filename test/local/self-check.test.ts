import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { selfCheck } from '../../local/self-check.ts';

const RUN = 'resolve:2026-11-28T09:41:09Z';
/** Keyed by method and path. */
let answers: Readonly<Record<string, readonly [status: number, body: object]>> = {};
/** Paths of the requests that had an API key. */
const withKey = new Set<string>();
let server: Server;

beforeAll(async () => {
  server = createServer(({ method, url, headers }, response) => {
    if (headers.authorization !== undefined) withKey.add(String(url));
    const [status, body] = answers[`${method} ${url}`] ?? [404, { status: 404, code: 'not_found' }];
    response.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
});
afterAll(() => void server.close());

const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const check = () => selfCheck({ apiUrl: address(), apiKey: 'sk', operatorKey: 'ok' }, 0);

const WELL = (): typeof answers => ({
  'GET /docs': [200, {}],
  'GET /v1/openapi.json': [200, {}],
  'POST /v1/payments': [202, { id: 'pay_1', status: 'requires_action', next_action: { url: `${address()}/payer` } }],
  'POST /payer': [200, {}],
  'GET /v1/payments/pay_1': [200, { id: 'pay_1', status: 'succeeded' }],
  'POST /v1/admin/jobs/resolve/runs': [202, { id: RUN, status: 'accepted' }],
  [`GET /v1/admin/jobs/resolve/runs/${RUN}`]: [200, { id: RUN, status: 'succeeded' }],
});

test('a start reports no problem if a payment, a callback and a job run succeed', async () => {
  answers = WELL();
  expect(await check()).toEqual([]);
  expect(withKey).toContain('/v1/payments');
  // The page of the payer belongs to the processor, which must not receive the API key.
  expect(withKey).not.toContain('/payer');
});

test.each<[fault: string, change: typeof answers, sentences: readonly string[]]>([
  [
    'a payment is refused',
    { 'POST /v1/payments': [503, { status: 503, code: 'temporarily_unavailable' }] },
    ['The request for a payment returned 503 temporarily_unavailable.'],
  ],
  [
    'no callback arrives',
    { 'GET /v1/payments/pay_1': [200, { id: 'pay_1', status: 'requires_action' }] },
    ['The payment pay_1 still requires an action: no callback of the processor completed it.'],
  ],
  ['the payer cannot approve', { 'POST /payer': [409, {}] }, ["The payer's approval returned 409."]],
  [
    'the payment fails',
    { 'GET /v1/payments/pay_1': [200, { id: 'pay_1', status: 'failed' }] },
    ['The payment pay_1 did not succeed: 200 failed.'],
  ],
  [
    'the documents are not served',
    { 'GET /docs': [500, { status: 500, code: 'internal_error' }] },
    ['The request for /docs returned 500 internal_error.'],
  ],
  [
    'jobs are not accepted',
    { 'POST /v1/admin/jobs/resolve/runs': [503, {}] },
    ['The request for a run of the job resolve returned 503.'],
  ],
  [
    'the run does not end, and the payment cannot be read',
    {
      [`GET /v1/admin/jobs/resolve/runs/${RUN}`]: [200, { id: RUN, status: 'accepted' }],
      'GET /v1/payments/pay_1': [500, {}],
    },
    ['The payment pay_1 did not succeed: 500.', `The run ${RUN} did not succeed: 200 accepted.`],
  ],
])('a start reports the problem if %s', async (_fault, change, sentences) => {
  answers = { ...WELL(), ...change };
  expect(await check()).toEqual(sentences);
});
