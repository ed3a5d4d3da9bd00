import { describe, expect, test } from '@jest/globals';
import { retryingBooks } from '../../lambdas/processors/retrying-books.ts';
import { createStripeBooks } from '../../lambdas/processors/stripe/stripe-books.ts';

/** Returns Stripe's books with the given HTTP responses, and the times of the requests, in milliseconds. */
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
  return { books: retryingBooks(books, { clock, entropy }), asked };
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

  test('causes at most one retry for every five reads, plus ten, during a long outage of the processor', async () => {
    const { books, asked } = booksAnswering({ status: 503 });
    for (let read = 0; read < 100; read += 1) await books.readCharge('pi_1', LIMIT).catch(() => undefined);
    expect(asked.length).toBeLessThanOrEqual(100 * 1.2 + 10);
  });
});
