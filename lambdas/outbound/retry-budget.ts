/**
 * The number of retries that one vendor may receive: a fifth of the calls, and a reserve of ten so that a process with few
 * calls can retry. At all times, attempts ≤ 1.2 × calls + 10.
 */
export interface RetryBudget {
  /** Adds a fifth of a retry for a call. */
  earn(): void;
  /** Uses up one retry of the budget. Returns false if none is left. */
  take(): boolean;
}

/**
 * The budget that each call adds, for at most 1.2 attempts per call. Counted in fifths of a retry, which are integers.
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
