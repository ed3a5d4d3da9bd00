import type { Clock } from '../../lambdas/kernel/world.ts';

/** A clock that tests advance. Sleeping advances the time immediately. */
export class SimulatedClock implements Clock {
  #nowMs: number;

  constructor(nowMs: number = Date.UTC(2026, 2, 1, 12)) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  async sleep(ms: number): Promise<void> {
    this.advance(ms);
  }

  /**
   * Advances the time.
   * @param ms may be negative, because clocks can jump back
   */
  advance(ms: number): void {
    this.#nowMs += ms;
  }
}

/** Returns a clock that is ahead of `base` by `offsetMs`. */
export function skewed(base: Clock, offsetMs: number): Clock {
  return { nowMs: () => base.nowMs() + offsetMs, sleep: (ms) => base.sleep(ms) };
}
