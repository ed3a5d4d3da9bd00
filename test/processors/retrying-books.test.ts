import { describe, expect, test } from '@jest/globals';
import { booksBreaker, retryingBooks } from '../../lambdas/processors/retrying-books.ts';
import { createStripeBooks } from '../../lambdas/processors/stripe/stripe-books.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';

/**
 * The requests get these responses in order, then the last response again. `asked` contains the times of the requests,
 * in milliseconds.
 */
function booksAnswering(...answers: readonly { readonly status: number; readonly retryAfter?: string }[]) {
  let nowMs = 0;
  const asked: number[] = [];
  const clock = {
    nowMs: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms;
    },
  };
  const books = createStripeBooks({
    apiKey: async () => 'sk_test_x',
    mode: 'test',
    account: 'acct_1',
    clock,
    send: async () => {
      const { status, retryAfter = null } = answers[asked.length] ?? answers.at(-1) ?? { status: 500 };
      asked.push(nowMs);
      nowMs += 100;
      const refusal = { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such intent' } };
      return { status, retryAfter, headers: new Headers(), text: status === 404 ? JSON.stringify(refusal) : '{}' };
    },
  });
  // Makes each wait take its maximum time.
  const entropy = { fraction: () => 0 };
  const wait = (ms: number): void => {
    nowMs += ms;
  };
  return {
    books: retryingBooks(books, { clock, entropy }),
    withBreaker: retryingBooks(books, { clock, entropy }, booksBreaker(clock)),
    asked,
    wait,
  };
}

const LIMIT = { timeoutMs: 5_000 };

describe("a job's read from Stripe", () => {
  test.each([
    ['5xx', [{ status: 503 }], [0, 600, 2_700, 7_800], 'processor_error'],
    ['409', [{ status: 409 }], [0, 600, 2_700, 7_800], 'processor_conflict'],
    ['429', [{ status: 429, retryAfter: '3' }, { status: 503 }], [0, 3_100, 5_200, 10_300], 'processor_error'],
    ["429 with a wait beyond the job's limit", [{ status: 429, retryAfter: '600' }], [0], 'processor_rate_limited'],
    ['401', [{ status: 401 }], [0], 'processor_unauthorized'],
    ['400', [{ status: 400 }], [0], 'processor_answer_unreadable'],
  ])('is retried after %s only as often as the policy allows', async (_what, answers, times, code) => {
    const { books, asked } = booksAnswering(...answers);
    await expect(books.readCharge('pi_1', LIMIT)).rejects.toMatchObject({ code });
    expect(asked).toEqual(times);
  });

  test('ends with the first response that is not retryable', async () => {
    const { books, asked } = booksAnswering({ status: 503 }, { status: 503 }, { status: 404 });
    expect(await books.readCharge('pi_1', LIMIT)).toBeUndefined();
    expect(asked).toEqual([0, 600, 2_700]);
  });

  test('is retried at most once for every five reads, plus ten times, during a long outage of the processor', async () => {
    const { books, asked } = booksAnswering({ status: 503 });
    for (let read = 0; read < 100; read += 1) await books.readCharge('pi_1', LIMIT).catch(() => undefined);
    expect(asked.length).toBeLessThanOrEqual(100 * 1.2 + 10);
  });
});

describe('the breaker of the books', () => {
  const read = (books: ReturnType<typeof retryingBooks>) => books.readCharge('pi_1', LIMIT);
  const REFUSED = { code: 'processor_circuit_open' };

  test('opens after ten consecutive failed requests; all reads and retries are then refused without a request', async () => {
    const { withBreaker, asked } = booksAnswering({ status: 503 });
    for (let each = 0; each < 2; each += 1)
      await expect(read(withBreaker)).rejects.toMatchObject({ code: 'processor_error' });
    await expect(read(withBreaker)).rejects.toMatchObject(REFUSED);
    await expect(read(withBreaker)).rejects.toMatchObject(REFUSED);
    await expect(withBreaker.chargesOfPayment(paymentIdFor('any'), LIMIT)).rejects.toMatchObject(REFUSED);
    expect(asked).toHaveLength(10);
  });

  test('lets one request through after ten seconds, and closes when the processor responds', async () => {
    const outage = Array.from({ length: 10 }, () => ({ status: 503 }));
    const { withBreaker, asked, wait } = booksAnswering(...outage, { status: 503 }, { status: 404 });
    for (let each = 0; each < 3; each += 1) await expect(read(withBreaker)).rejects.toThrow();
    wait(10_000);
    await expect(read(withBreaker)).rejects.toMatchObject(REFUSED);
    expect(asked).toHaveLength(11);
    wait(10_000);
    expect(await Promise.all([read(withBreaker), read(withBreaker)])).toEqual([undefined, undefined]);
    expect(asked).toHaveLength(13);
  });

  test('stays closed if charges are unreadable', async () => {
    const { withBreaker } = booksAnswering({ status: 400 });
    for (let each = 0; each < 20; each += 1)
      await expect(read(withBreaker)).rejects.toMatchObject({ code: 'processor_answer_unreadable' });
  });
});
