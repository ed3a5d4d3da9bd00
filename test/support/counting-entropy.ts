import { ownerToken } from '../../lambdas/kernel/ids.ts';
import type { Entropy } from '../../lambdas/kernel/world.ts';

/**
 * Owner tokens in order, jitter of zero: runs are the same every time.
 *
 * @param name of the process: a store takes a record of its own token for its own
 */
export function countingEntropy(name = 'owner'): Entropy {
  let made = 0;
  return {
    ownerToken: () => {
      made += 1;
      return ownerToken(`${name}-${made}`);
    },
    salt: () => new Uint8Array(16).fill(7),
    fraction: () => 0,
  };
}
