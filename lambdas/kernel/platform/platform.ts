import { hash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import canonicalize from 'canonicalize';
import type { Digest } from '../digest.ts';
import { ownerToken } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { Clock, Entropy } from '../world.ts';

/**
 * Environment variable with the offset of the local stack's clock, in milliseconds (`payonce clock advance`). The local
 * AWS sets it for its functions, and the command line sets it for itself. Deployed stacks never set it.
 */
export const CLOCK_OFFSET = 'PAYONCE_CLOCK_OFFSET_MS';

export const systemClock: Clock = {
  nowMs: () => Date.now() + Number(process.env[CLOCK_OFFSET] ?? 0),
  wireMs: () => Date.now(),
  sleep: async (ms) => {
    await sleep(ms);
  },
};

export const systemEntropy: Entropy = {
  ownerToken: () => ownerToken(randomUUID()),
  salt: () => new Uint8Array(randomBytes(16)),
  fraction: () => Math.random(),
};

export const systemDigest: Digest = {
  // Return a plain Uint8Array, because a Buffer would compare unequal to the value that the store returns.
  sha256: (text) => new Uint8Array(hash('sha256', text, 'buffer')),
  canonicalJson: (value) => {
    const text = canonicalize(value);
    invariant(text !== undefined, 'the value is not JSON, so it has no canonical form');
    return text;
  },
};
