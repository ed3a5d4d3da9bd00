import type { Entropy } from './world.ts';

/**
 * Returns a random wait with full jitter, which spreads the retries of callers that failed together evenly over the
 * whole wait. Equal jitter, which keeps half of the wait, needs more calls and more time until all of them succeed (M.
 * Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog; AWS Builders' Library, "Timeouts, retries, and
 * backoff with jitter").
 *
 * @returns more than 0 and at most the whole wait, in the unit of `wait`
 */
export function fullJitter(wait: number, entropy: Pick<Entropy, 'fraction'>): number {
  return wait * (1 - entropy.fraction());
}
