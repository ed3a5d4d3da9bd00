import type { Entropy } from './world.ts';

/**
 * If callers fail together, full jitter spreads their retries evenly over the whole wait. With equal jitter, whose wait
 * is always at least half of the maximum, all callers together need more calls and more time to succeed (M. Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog; AWS Builders' Library, "Timeouts, retries, and backoff with
 * jitter").
 *
 * @returns more than 0 and at most the whole wait, in the unit of `wait`
 */
export function fullJitter(wait: number, entropy: Pick<Entropy, 'fraction'>): number {
  return wait * (1 - entropy.fraction());
}
