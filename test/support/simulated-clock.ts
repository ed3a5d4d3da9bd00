import type { Clock } from '../../lambdas/kernel/world.ts';

/** Sleeping advances the time immediately. */
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

  /** @param ms may be negative, because clocks can jump back */
  advance(ms: number): void {
    this.#nowMs += ms;
  }
}

export function skewed(base: Clock, offsetMs: number): Clock {
  return { nowMs: () => base.nowMs() + offsetMs, sleep: (ms) => base.sleep(ms) };
}
