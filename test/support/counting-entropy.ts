import { ownerToken } from '../../lambdas/kernel/ids.ts';
import type { Entropy } from '../../lambdas/kernel/world.ts';

/**
 * Returns an entropy source with sequential owner tokens, a constant salt and zero jitter, so that runs are
 * reproducible.
 *
 * @param name name of the process; must differ between processes, because a store assumes that a process owns each
 * record with its token
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
