import type { DeadLetters } from './use/dead-letters.ts';

/** The number of recent letters that are remembered: more than a process stores during one outage. */
const KNOWN_LETTERS = 1_000;

/**
 * Stores each letter once per process, so that a caller that retries every minute does not fill the queue with copies. A copy
 * from another process is harmless, because all copies are redriven under the same key.
 */
export function keepOnce(letters: DeadLetters): DeadLetters {
  const known = new Set<string>();
  return {
    put: async (letter) => {
      const { vendor, operation, payload } = letter;
      const call = JSON.stringify([vendor, operation, payload]);
      if (known.has(call)) return;
      await letters.put(letter);
      known.add(call);
      const [oldest] = known;
      if (known.size > KNOWN_LETTERS && oldest !== undefined) known.delete(oldest);
    },
  };
}
