import type { Entropy } from './world.ts';

/**
 * Returns a random wait with full jitter. If callers failed together, this spreads their retries evenly over the whole
 * wait. Equal jitter, which always waits half of the time, needs more calls and more time until all callers have
 * succeeded (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog; AWS Builders' Library, "Timeouts,
 * retries, and backoff with jitter").
 *
 * @returns more than 0 and at most the whole wait, in the unit of `wait`
 */
export function fullJitter(wait: number, entropy: Pick<Entropy, 'fraction'>): number {
  return wait * (1 - entropy.fraction());
}
