import { describe, expect, test } from '@jest/globals';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { SendRequest } from '../../lambdas/outbound/http-call.ts';
import { createSandboxBooks } from '../../lambdas/processors/sandbox/sandbox-books.ts';
import { createSandboxClient } from '../../lambdas/processors/sandbox/sandbox-client.ts';
import { createSandbox } from '../../sandbox/routes.ts';
import { freshOrder } from '../orders/sandbox-orders.ts';
import { emptyBooks } from '../world/sandbox-books.ts';
import { SANDBOX_SECRET, SANDBOX_START_MS } from './sandbox-world.ts';

const LIMIT = { timeoutMs: 1_000 };
const nowMs = () => SANDBOX_START_MS;

const sandboxWith = (...secrets: readonly string[]) =>
  createSandbox({
    books: emptyBooks(),
    tasks: { enqueue: async () => undefined },
    callbacks: { address: async () => undefined, secret: async () => SANDBOX_SECRET },
    secrets: async () => secrets,
    runner: idempotentRunner,
    nowMs,
    newId: (prefix) => `${prefix}${crypto.randomUUID()}`,
    wait: async () => undefined,
    baseUrl: 'http://sandbox.example',
  });
/** Two active values, as during a rotation. */
const app = sandboxWith('secret-a', 'secret-b');

const statusOf = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  (await app.request(path, { method, headers })).status;

describe('the sandbox refuses callers without its secret, except on the payer’s page:', () => {
  const routes = app.routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => [method, path] as const);

  test.each(routes)('%s %s', async (method, path) => {
    const answer = await app.request(path.replace(':id', 'some'), { method });
    if (path === '/actions/:id') {
      expect(answer.status).not.toBe(401);
      return;
    }
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await answer.json()).toEqual({
      error: { code: 'unauthorized', message: 'The sandbox requires its secret: Authorization: Bearer <secret>.' },
    });
  });

  test.each([
    'Bearer secret-c',
    'Bearer ',
    'Bearer',
    'Basic secret-a',
    'secret-a',
    'Bearer secret-a,secret-b',
    'Bearer SECRET-A',
  ])('the authorization header %j', async (authorization) => {
    expect(await statusOf('/charges?payment=pay_1', { authorization })).toBe(401);
  });

  test.each(['/actions/', '/actions/some/more', '/actions%2Fsome', '/x/../charges?payment=pay_1', '//actions/some'])(
    '%s is protected, because it is not the payer’s page',
    async (path) => {
      expect(await statusOf(path)).toBe(401);
    },
  );
});

test('the sandbox accepts each active value of its secret, also as the token of the e-mail service', async () => {
  expect(await statusOf('/charges?payment=pay_1', { authorization: 'Bearer secret-a' })).toBe(200);
  expect(await statusOf('/charges?payment=pay_1', { authorization: 'Bearer secret-b' })).toBe(200);
  expect(await statusOf('/server', { 'x-postmark-server-token': 'secret-a' })).toBe(200);
  expect(await statusOf('/server', { 'x-postmark-server-token': 'secret-c' })).toBe(401);
});

test('a sandbox with an empty secret refuses every caller', async () => {
  const empty = sandboxWith('');
  for (const headers of [{}, { authorization: 'Bearer ' }, { 'x-postmark-server-token': '' }]) {
    expect((await empty.request('/health', { headers })).status).toBe(401);
  }
});

describe('the sandbox client', () => {
  const send: SendRequest = async ({ url, method, headers, body }) => {
    const answer = await app.request(url, { method, headers, ...(body === undefined ? {} : { body }) });
    return { status: answer.status, retryAfter: null, headers: answer.headers, text: await answer.text() };
  };
  const access = (secret: string) => ({
    url: 'http://sandbox.example',
    clock: { nowMs },
    send,
    accessKey: async () => secret,
  });

  test('sends its secret when it charges and when it reads the books', async () => {
    const order = freshOrder();
    const outcome = await createSandboxClient(access('secret-a')).charge(order, LIMIT);
    expect(outcome.kind).toBe('succeeded');
    const books = createSandboxBooks(access('secret-b'));
    expect(await books.chargesOfPayment(order.paymentId, LIMIT)).toHaveLength(1);
  });

  test('treats a rejected secret as a retryable error without an effect', async () => {
    const unauthorized = { name: 'RetryableError', code: 'processor_unauthorized' };
    await expect(createSandboxClient(access('secret-c')).charge(freshOrder(), LIMIT)).rejects.toMatchObject(
      unauthorized,
    );
    await expect(createSandboxBooks(access('secret-c')).readCharge('ch_1', LIMIT)).rejects.toMatchObject(unauthorized);
  });
});
