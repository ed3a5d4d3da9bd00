import { RetryableError } from '../../kernel/faults.ts';

/**
 * A write that found its place taken is decided again on what the rival has left. In every round a rival has succeeded, so
 * the work as a whole goes on. After this many rounds, some 200 ms, the caller is asked to come back. Fewer are too few for
 * the commit of a call that was made: its key would wait for the end of its lease.
 */
const MAX_ROUNDS = 8;

/**
 * Tries until no rival was faster.
 *
 * @param what the rivals want, for the message of the error
 * @param attempt reads, decides and writes; `again` when a rival has written first. Rounds count from 0.
 * @throws RetryableError `contention` when rivals were always faster: nothing happened
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
  return new RetryableError('contention', `too many rivals at once for ${what}`, { retryAfterSeconds: 1 });
}
