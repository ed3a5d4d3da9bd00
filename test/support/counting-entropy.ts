import { ownerToken } from '../../lambdas/kernel/ids.ts';
import type { Entropy } from '../../lambdas/kernel/world.ts';

/** Owner tokens in order, jitter of zero: runs are the same every time. */
export function countingEntropy(): Entropy {
  let made = 0;
  return {
    ownerToken: () => {
      made += 1;
      return ownerToken(`owner-${made}`);
    },
    salt: () => new Uint8Array(16).fill(7),
    fraction: () => 0,
  };
}
