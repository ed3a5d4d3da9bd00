import type { Entropy } from './world.ts';

/**
 * Full jitter: callers that failed together come back evenly over the whole wait. Equal jitter, which keeps half of it, needs more calls and
 * more time until all have succeeded (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog; AWS Builders' Library, "Timeouts,
 * retries, and backoff with jitter").
 *
 * @returns more than nothing, and at most the whole wait, in its unit
 */
export function fullJitter(wait: number, entropy: Pick<Entropy, 'fraction'>): number {
  return wait * (1 - entropy.fraction());
}
