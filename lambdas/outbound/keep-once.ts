import type { DeadLetters } from './use/dead-letters.ts';

/** The last so many letters are known: more than a process puts while one thing is wrong. */
const KNOWN_LETTERS = 1_000;

/**
 * One letter for one call, as far as this process knows: who asks again every minute does not fill the box with copies. A
 * letter that another process puts as well is harmless, as all are made again under one key.
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
