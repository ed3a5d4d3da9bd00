/**
 * Limits the retries to one vendor: one retry per five calls, and a reserve of ten so that a process with few calls can
 * retry. At all times, attempts ≤ 1.2 × calls + 10.
 */
export interface RetryBudget {
  /** Called once for each call. */
  earn(): void;
  /** Returns false if no retry remains. */
  take(): boolean;
}

/**
 * In fifths of a retry, so that it is an integer. On average, allows 1.2 attempts per call, in addition to the reserve.
 */
const FIFTHS_PER_CALL = 1;
const FIFTHS_PER_RETRY = 5;
const MAX_FIFTHS = 10 * FIFTHS_PER_RETRY;

export function createRetryBudget(): RetryBudget {
  let fifths = MAX_FIFTHS;
  return {
    earn: () => {
      fifths = Math.min(MAX_FIFTHS, fifths + FIFTHS_PER_CALL);
    },
    take: () => {
      if (fifths < FIFTHS_PER_RETRY) return false;
      fifths -= FIFTHS_PER_RETRY;
      return true;
    },
  };
}
