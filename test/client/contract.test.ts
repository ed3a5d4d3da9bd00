/** Tests the cases of `clients/contract.json`, which the tests of the Python client also read. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { createClient } from '../../client/client.ts';
import { isFinal, isTransient, type Problem, ProblemError } from '../../client/errors.ts';
import { type KeyStore, memoryKeys, type StoredAnswer, type StoredRequest, storedIn } from '../../client/key-store.ts';
import { verifyWebhook } from '../../client/webhooks.ts';
import { PROBLEMS } from '../../lambdas/http/problems.ts';
import { parseRetryAfter } from '../../lambdas/kernel/retry-after.ts';
import { outcomeOf, TEA } from './client-world.ts';

interface Attempt {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
}
/** The contract names these codes of Node's `fetch`. */
const FAILURES = {
  lost: 'ECONNRESET',
  refused: 'ECONNREFUSED',
  unknown_host: 'ENOTFOUND',
  no_name_server: 'EAI_AGAIN',
  untrusted: 'DEPTH_ZERO_SELF_SIGNED_CERT',
} as const;
type Attempts = readonly (Attempt | keyof typeof FAILURES)[];
type Row = Pick<StoredRequest, 'method' | 'path' | 'mode' | 'body'>;

const CONTRACT = JSON.parse(readFileSync(new URL('../../clients/contract.json', import.meta.url), 'utf8')) as {
  readonly now: number;
  readonly problems: readonly (Pick<Problem, 'code' | 'status'> & {
    readonly recovery: string;
    readonly retried: boolean;
    readonly stored: boolean;
  })[];
  readonly calls: readonly {
    readonly name: string;
    /** An earlier process stored this body with the key `k-1`. */
    readonly storedBefore?: string;
    /** The API refused that body. */
    readonly storedRefused?: true;
    readonly attempts: Attempts;
    readonly pausesSeconds?: readonly number[];
    readonly then: Record<string, unknown>;
    readonly says?: string;
    readonly stored: number | null;
    /** The refusal is stored, so that a later call can send another body. */
    readonly refused?: true;
  }[];
  readonly changes: readonly { readonly name: string; readonly stored: Row; readonly offered: Row; differ: string[] }[];
  readonly names: readonly { readonly name: unknown; readonly valid: boolean }[];
  readonly rows: readonly {
    readonly name: string;
    readonly request: string | null;
    readonly answer?: string;
    readonly valid: boolean;
    readonly refused?: true;
  }[];
  readonly retryAfter: readonly { readonly header: string | null; readonly seconds: number | null }[];
  readonly addresses: readonly { readonly url: string; readonly valid: boolean }[];
  readonly webhooks: readonly {
    readonly name: string;
    readonly headers: Record<string, string | readonly string[]>;
    readonly secrets: readonly string[];
    readonly body: string;
    readonly refused: string | null;
  }[];
};
const URL_OF_API = 'https://api.example';

function scripted(attempts: Attempts, keys: KeyStore) {
  const sent: Request[] = [];
  const pausesSeconds: number[] = [];
  let nowMs = CONTRACT.now * 1_000;
  const client = createClient({
    url: URL_OF_API,
    apiKey: 'sk_test_1',
    keys,
    surroundings: {
      fetch: async (url, init) => {
        const attempt = attempts[sent.length] ?? 'lost';
        sent.push(new Request(url, init));
        if (typeof attempt === 'string')
          throw new TypeError('fetch failed', {
            cause: Object.assign(new Error(attempt), { code: FAILURES[attempt] }),
          });
        return new Response(attempt.body, { status: attempt.status, headers: attempt.headers ?? {} });
      },
      nowMs: () => nowMs,
      elapsedMs: () => nowMs,
      sleep: async (ms) => {
        pausesSeconds.push(ms / 1_000);
        nowMs += ms;
      },
      expire: () => new AbortController().signal,
      fraction: () => 0.5,
    },
  });
  return { client, sent, pausesSeconds };
}

test('the contract lists each problem of the API with its status, recovery and retry', () => {
  const known = Object.entries(PROBLEMS).map(([code, { status }]) => `${code} ${status}`);
  expect(CONTRACT.problems.map(({ code, status }) => `${code} ${status}`).toSorted()).toEqual(known.toSorted());
  const ours = CONTRACT.problems.map(({ code, status }) => {
    const { recovery } = new ProblemError({ code, status, detail: 'x', request_id: 'r' } as Problem, false);
    return { code, status, recovery, retried: isTransient({ code, status }), stored: isFinal(code) };
  });
  expect(ours).toEqual(CONTRACT.problems);
});

test.each(CONTRACT.calls)('$name', async ({ attempts, storedBefore: body, pausesSeconds, then, stored, ...call }) => {
  const rows = memoryKeys();
  const answers: StoredAnswer[] = [];
  const refusals: unknown[] = [];
  const keys: KeyStore = {
    putIfAbsent: (request) => rows.putIfAbsent(request),
    keepAnswer: (_request, answer) => void answers.push(answer),
    keepRefusal: (request) => void refusals.push(JSON.parse(request.body ?? '')),
  };
  const path = '/v1/payments';
  if (body !== undefined) {
    const row = { operation: 'order_42', key: 'k-1', method: 'POST', path, body, mode: 'test' } as const;
    await rows.putIfAbsent(row);
    if (call.storedRefused) await rows.keepRefusal?.({ ...row, refused: true });
  }
  const one = scripted(attempts, keys);
  const paying = one.client.payments.create(TEA, { operation: 'order_42' });
  const result = await paying.catch((error: unknown) => error);
  expect(result).toMatchObject(then);
  expect(String(result)).toContain(call.says ?? '');
  expect(one.sent).toHaveLength(attempts.length);
  if (pausesSeconds !== undefined) expect(one.pausesSeconds).toEqual(pausesSeconds);
  expect(answers.map(({ status }) => status)).toEqual(stored === null ? [] : [stored]);
  expect(refusals).toEqual(call.refused ? [TEA] : []);
  const bytes = await Promise.all(
    one.sent.map(async (each) => [each.headers.get('idempotency-key'), await each.text()]),
  );
  expect(new Set(bytes.map((each) => JSON.stringify(each))).size).toBe(1);
  if (body !== undefined) expect(bytes[0]).toEqual(['k-1', call.storedRefused ? JSON.stringify(TEA) : body]);
});

describe('an operation', () => {
  test.each(CONTRACT.changes)('is compared with its stored request: $name', async ({ stored, offered, differ }) => {
    // A call always makes a request with the same path, method and mode, so only a stored row can differ in them.
    const lost: KeyStore = {
      putIfAbsent: () => ({ operation: 'x', key: 'k', ...stored }),
      keepAnswer: () => undefined,
    };
    const { Operations } = await import('../../client/operations.ts');
    const { Sender } = await import('../../client/sender.ts');
    const { SYSTEM } = await import('../../client/surroundings.ts');
    const answer = async () => new Response('{"object":"payment"}', { status: 200 });
    const around = { ...SYSTEM, fetch: answer };
    const operations = new Operations(lost, new Sender({ url: URL_OF_API, headers: {} }, around), offered.mode, around);
    const { method, path, body } = offered;
    const params = body === null ? {} : { params: JSON.parse(body) as object };
    const message = await operations.run({ method, path, ...params }, { operation: 'x' }).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );
    const [, named = ''] = /started with a different (.*)\. Nothing was sent/.exec(message) ?? [];
    expect(named).toBe(differ.join(', '));
  });

  test.each(CONTRACT.names)('is accepted with the name $name only if the name is valid', async ({ name, valid }) => {
    const { client, sent } = scripted([{ status: 201, body: '{"object":"payment"}' }], memoryKeys());
    const outcome = await outcomeOf(client.payments.create(TEA, { operation: name as string }));
    expect(outcome).toEqual(valid ? { object: 'payment' } : { code: 'invalid_operation' });
    expect(sent).toHaveLength(valid ? 1 : 0);
  });
});

test.each(CONTRACT.rows)('a stored row is checked: $name', ({ request, answer, valid, refused }) => {
  const read = () => storedIn(request, answer);
  if (valid) expect({ refused: undefined, ...read() }).toMatchObject({ operation: 'order_42', key: 'k-1', refused });
  else expect(read).toThrow(expect.objectContaining({ code: 'invalid_key_store', mayHaveTakenEffect: true }));
});

test.each(CONTRACT.retryAfter)('Retry-After $header means $seconds seconds', ({ header, seconds }) => {
  expect(parseRetryAfter(header, CONTRACT.now * 1_000) ?? null).toBe(seconds);
});

test.each(CONTRACT.addresses)('the address $url is accepted only if it is valid', ({ url, valid }) => {
  const create = () => createClient({ url, keys: memoryKeys() });
  if (valid) expect(create).not.toThrow();
  else expect(create).toThrow(expect.objectContaining({ name: 'TypeError' }));
});

test.each(CONTRACT.webhooks)('a webhook is verified: $name', async ({ headers, secrets, body, refused }) => {
  const verified = verifyWebhook(body, headers, { secrets, nowMs: CONTRACT.now * 1_000 });
  if (refused === null) expect(await verified).toMatchObject({ id: 'evt_1' });
  else
    await expect(verified).rejects.toMatchObject({
      code: 'invalid_webhook',
      message: expect.stringContaining(refused),
    });
});
