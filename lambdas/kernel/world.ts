import type { OwnerToken } from './ids.ts';

export interface Clock {
  /** Returns the time in Unix milliseconds. Workers' clocks differ and may jump. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

export interface Entropy {
  /** Creates a unique owner token. */
  ownerToken(): OwnerToken;
  /** Creates 128 random bits. */
  salt(): Uint8Array;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), for jitter only. */
  fraction(): number;
}

export interface CallLimit {
  readonly timeoutMs: number;
}
