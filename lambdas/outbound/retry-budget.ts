/**
 * How many retries one vendor may get: a fifth of the calls, and a reserve of ten, so that a process with few calls can
 * retry at all. Whatever fails, and however long: attempts ≤ 1.2 × calls + 10.
 */
export interface RetryBudget {
  /** A call was let through. */
  earn(): void;
  /** Whether one more attempt may be made; it is taken. */
  take(): boolean;
}

/** Design: 1.2 attempts per call. In fifths, so that it stays an integer. */
const FIFTHS_PER_CALL = 1;
const FIFTHS_PER_RETRY = 5;
const MOST_FIFTHS = 10 * FIFTHS_PER_RETRY;

export function createRetryBudget(): RetryBudget {
  let fifths = MOST_FIFTHS;
  return {
    earn: () => {
      fifths = Math.min(MOST_FIFTHS, fifths + FIFTHS_PER_CALL);
    },
    take: () => {
      if (fifths < FIFTHS_PER_RETRY) return false;
      fifths -= FIFTHS_PER_RETRY;
      return true;
    },
  };
}
