import type { OwnerToken } from './ids.ts';

export interface Clock {
  /** Returns the time in Unix milliseconds. Workers' clocks differ and may jump. */
  nowMs(): number;
  /**
   * Returns the time to use in signatures and tokens, in Unix milliseconds. Other systems compare it with their own
   * clocks. Differs from `nowMs` only on a local stack whose clock was advanced. @default the result of `nowMs`
   */
  wireMs?(): number;
  sleep(ms: number): Promise<void>;
}

export type WireClock = Pick<Clock, 'nowMs' | 'wireMs'>;

export function wireMs(clock: WireClock): number {
  return clock.wireMs?.() ?? clock.nowMs();
}

export interface Entropy {
  ownerToken(): OwnerToken;
  /** Creates 128 random bits. */
  salt(): Uint8Array;
  /** From 0 (inclusive) to 1 (exclusive), for jitter only. */
  fraction(): number;
}

export interface CallLimit {
  readonly timeoutMs: number;
}
