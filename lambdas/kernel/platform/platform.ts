import { hash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import canonicalize from 'canonicalize';
import type { Digest } from '../digest.ts';
import { ownerToken } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { Clock, Entropy } from '../world.ts';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
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
  // A plain Uint8Array: a Buffer would compare unequal to the value that the store returns.
  sha256: (text) => new Uint8Array(hash('sha256', text, 'buffer')),
  canonicalJson: (value) => {
    const text = canonicalize(value);
    invariant(text !== undefined, 'the value is not JSON, so it has no canonical form');
    return text;
  },
};
