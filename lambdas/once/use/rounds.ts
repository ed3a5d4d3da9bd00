import { RetryableError } from '../../kernel/faults.ts';

/**
 * Each new round decides again what to write, because a rival has taken the position in the chain. One writer succeeds
 * in every round, so the system makes progress. After this many rounds, about 200 ms, the caller must retry. With fewer
 * rounds, more commits would fail after their call, and each would block its idempotency key until the lease ends.
 */
const MAX_ROUNDS = 8;

/**
 * @param what the object for which the writers compete
 * @param attempt returns `again` when a rival has written first; the first round has number 0
 * @throws RetryableError `contention` when a rival wrote first in every round; nothing was written
 */
export async function rounds<Result>(
  what: string,
  attempt: (round: number) => Promise<Result | 'again'>,
): Promise<Result> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const result = await attempt(round);
    if (result !== 'again') return result;
  }
  throw contention(what);
}

export function contention(what: string): RetryableError {
  return new RetryableError('contention', `too many concurrent writers of ${what}`, { retryAfterSeconds: 1 });
}

/**
 * Returns the error for a claim whose transaction was partly lost in a restore of the tables. Each request with the key
 * gets this error until the recovery ends the claim. Nothing is sent under such a claim, because its request is
 * unknown.
 */
export function claimTransactionLost(): RetryableError {
  return new RetryableError(
    'restore_not_recovered',
    'the claim of this idempotency key was restored without its operation',
    {
      retryAfterSeconds: 60,
    },
  );
}
