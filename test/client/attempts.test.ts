import { describe, expect, test } from '@jest/globals';
import { ProblemError } from '../../client/errors.ts';
import { PROBLEMS } from '../../lambdas/http/problems.ts';
import { Api } from '../world/api.ts';
import { clientOn, errorOf, TEA, URL_OF_API } from './client-world.ts';

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });

describe('a client’s attempts', () => {
  /** After the given responses, the client receives the API's responses. */
  function answering(api: Api, ...answers: readonly (() => Response)[]) {
    const pauses: number[] = [];
    let attempts = 0;
    const one = clientOn(api, {
      fetch: async (url, init) => {
        attempts += 1;
        return answers[attempts - 1]?.() ?? api.fetch(new Request(url, init));
      },
      sleep: async (ms) => {
        pauses.push(ms);
        api.clock.advance(ms);
      },
    });
    return { ...one, pauses };
  }

  const problem = (code: keyof typeof PROBLEMS) => ({
    code,
    status: PROBLEMS[code].status,
    detail: 'x',
    request_id: 'r',
  });

  test.each([
    ['idempotency_key_in_progress', 409],
    ['rate_limited', 429],
    ['internal_error', 500],
    ['processor_unavailable', 503],
    ['temporarily_unavailable', 503],
    ['timeout', 504],
  ] as const)('continue with the same key and bytes after %s', async (code, status) => {
    const api = new Api();
    const { client, sent } = answering(api, () => answer(status, problem(code)));
    expect(await client.payments.create(TEA, { operation: 'order_42' })).toMatchObject({ status: 'succeeded' });
    expect(sent).toHaveLength(2);
    expect(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1);
    expect(new Set(await Promise.all(sent.map((each) => each.text()))).size).toBe(1);
  });

  test.each([
    ["a gateway's HTML page", () => answer(502, '<html>Bad gateway</html>')],
    ["a proxy's HTML page", () => answer(200, '<html>Sign in to this network</html>')],
    ['a truncated answer', () => answer(201, '{"id":"pay_', { 'content-type': 'application/json' })],
    ['an unknown error code from the server', () => answer(503, { code: 'brand_new', status: 503 })],
  ])('continue after %s', async (_name, strange) => {
    const { client, sent } = answering(new Api(), strange);
    expect(await client.payments.create(TEA, { operation: 'order_42' })).toMatchObject({ status: 'succeeded' });
    expect(sent).toHaveLength(2);
  });

  test.each(Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[])(
    'continue after %s only if the error code is documented as retryable',
    async (code) => {
      const { status } = PROBLEMS[code];
      const api = new Api();
      const { client, sent } = answering(api, () => answer(status, problem(code)));
      await client.payments.create(TEA, { operation: 'order_42' }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(ProblemError);
      });
      const isServers = status >= 500 && !['no_processor_configured', 'balance_too_large'].includes(code);
      const isRetried = isServers || code === 'rate_limited' || code === 'idempotency_key_in_progress';
      expect(sent).toHaveLength(isRetried ? 2 : 1);
    },
  );

  test('wait for the Retry-After period plus jitter', async () => {
    const api = new Api();
    const seconds = () => answer(429, problem('rate_limited'), { 'retry-after': '7' });
    const date = () =>
      answer(503, problem('temporarily_unavailable'), {
        'retry-after': new Date(api.clock.nowMs() + 3_000).toUTCString(),
      });
    const { client, pauses } = answering(api, seconds, date);
    await client.payments.create(TEA, { operation: 'order_42' });
    expect(pauses[0]).toBe(7_250);
    // An HTTP date has no fractions of a second.
    expect(pauses[1]).toBeGreaterThan(2_500);
    expect(pauses[1]).toBeLessThanOrEqual(3_500);
  });

  test('stop immediately if Retry-After exceeds the deadline, and the same operation can continue later', async () => {
    const api = new Api();
    const later = () => answer(429, problem('rate_limited'), { 'retry-after': '3600' });
    const { client, sent, pauses } = answering(api, later);
    const error = await errorOf(client.payments.create(TEA, { operation: 'order_42', timeoutMs: 30_000 }));
    expect(error).toMatchObject({ code: 'no_answer', mayHaveTakenEffect: false });
    expect([sent.length, pauses]).toEqual([1, []]);
    expect(await client.payments.create(TEA, { operation: 'order_42' })).toMatchObject({ status: 'succeeded' });
  });

  test('stop with an error that reports a possible effect if an earlier attempt got no response', async () => {
    const lost = () => {
      throw new TypeError('the connection was reset');
    };
    const later = () => answer(429, problem('rate_limited'), { 'retry-after': '3600' });
    const { client } = answering(new Api(), lost, later);
    const error = await errorOf(client.payments.create(TEA, { operation: 'order_42', timeoutMs: 30_000 }));
    expect(error).toMatchObject({ code: 'no_answer', mayHaveTakenEffect: true });
  });

  test('stop at the deadline when no response arrives', async () => {
    const api = new Api();
    const dead = Array.from({ length: 100 }, () => () => {
      throw new TypeError('no route to host');
    });
    const { client } = answering(api, ...dead);
    const fromMs = api.clock.nowMs();
    const error = await errorOf(client.payments.create(TEA, { operation: 'order_42', timeoutMs: 60_000 }));
    expect(error).toMatchObject({
      code: 'no_answer',
      mayHaveTakenEffect: true,
      cause: { message: 'no route to host' },
    });
    expect(api.clock.nowMs() - fromMs).toBeLessThan(60_000);
  });

  test('stop at the deadline although the clock is set back during each pause', async () => {
    const api = new Api();
    let elapsedMs = 0;
    const { client } = clientOn(api, {
      fetch: () => Promise.reject(new TypeError('no route to host')),
      nowMs: () => api.clock.nowMs() - elapsedMs,
      elapsedMs: () => elapsedMs,
      sleep: async (ms) => {
        elapsedMs += ms;
      },
    });
    const timeoutMs = 60_000;
    for (const call of [
      () => client.payments.create(TEA, { operation: 'order_42', timeoutMs }),
      () => client.payments.wait('pay_1', { timeoutMs }),
    ]) {
      const fromMs = elapsedMs;
      expect(await errorOf(call())).toMatchObject({ code: 'no_answer' });
      expect(elapsedMs - fromMs).toBeLessThanOrEqual(timeoutMs);
    }
  });

  test('stop with the reason of the abort signal, and the same operation can continue later', async () => {
    const api = new Api();
    const stop = new AbortController();
    const busy = () => {
      stop.abort(new Error('the page was closed'));
      return answer(503, problem('processor_unavailable'));
    };
    const { client } = answering(api, busy);
    const aborted = client.payments.create(TEA, { operation: 'order_42', signal: stop.signal });
    await expect(aborted).rejects.toThrow('the page was closed');
    expect(await client.payments.create(TEA, { operation: 'order_42' })).toMatchObject({ status: 'succeeded' });
  });

  test('report that an address is not the address of the API', async () => {
    const { client } = answering(new Api(), () => answer(301, '', { location: 'https://elsewhere.example' }));
    const error = await errorOf(client.payments.create(TEA, { operation: 'order_42' }));
    expect(error).toMatchObject({ code: 'unexpected_answer' });
    expect(error.message).toContain(URL_OF_API);
  });
});
