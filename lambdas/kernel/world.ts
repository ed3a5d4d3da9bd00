import type { OwnerToken } from './ids.ts';

export interface Clock {
  /** Unix milliseconds; workers' clocks differ and may jump. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

export interface Entropy {
  /** A fresh owner token: never the same twice. */
  ownerToken(): OwnerToken;
  /** 128 random bits. */
  salt(): Uint8Array;
  /** From 0 up to, not including, 1; for jitter only. */
  fraction(): number;
}

export interface CallLimit {
  readonly timeoutMs: number;
}
