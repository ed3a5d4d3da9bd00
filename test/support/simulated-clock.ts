import type { Clock } from '../../lambdas/kernel/world.ts';

/** Time as data: sleeping moves it on at once. */
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

  /** May be negative: clocks jump back. */
  advance(ms: number): void {
    this.#nowMs += ms;
  }
}

/** The same time as `base`, read on a clock that is wrong by `offsetMs`. */
export function skewed(base: Clock, offsetMs: number): Clock {
  return { nowMs: () => base.nowMs() + offsetMs, sleep: (ms) => base.sleep(ms) };
}
