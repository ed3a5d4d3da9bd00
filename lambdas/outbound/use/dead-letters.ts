/** A call to a vendor that was given up and is stored, so that it can be redriven. */
export interface DeadLetter {
  readonly vendor: string;
  readonly operation: string;
  /** The order of the call. Absent for a call of no order. */
  readonly about?: string;
  /** Everything that is needed to repeat the call, as JSON. Never contains credentials. */
  readonly payload: object;
  /** The number of sends. */
  readonly attempts: number;
  /** The fault's code. */
  readonly reason: string;
  /** Sent without an answer. It must be looked up before it is sent again. */
  readonly mayBeApplied: boolean;
}

export interface DeadLetters {
  /** The letter is durable when this returns. A copy is harmless: it is redriven under the same key. */
  put(letter: DeadLetter, queue?: LetterQueueName): Promise<void>;
}

/**
 * `dead`: for an operator. `delayed`: for a function that makes the call for the last time, half a minute later, and then dead-letters it.
 *
 * @default dead
 */
export type LetterQueueName = 'dead' | 'delayed';

/** A received letter. It is hidden from other receivers for some minutes, and then becomes visible again. */
export interface TakenLetter {
  readonly id: string;
  /** The receipt for `remove` and `putBack`. */
  readonly receipt: string;
  /** Undefined if the message cannot be read. It is kept nevertheless. */
  readonly letter?: DeadLetter;
  /** Unix milliseconds. */
  readonly keptSinceMs: number;
}

/** Stores dead letters for up to two weeks, in no guaranteed order. */
export interface LetterBox extends DeadLetters {
  /** Receives up to ten letters, not necessarily all. An empty result means that there are probably none. */
  take(atMost: number): Promise<readonly TakenLetter[]>;
  /** Makes the letter visible to the next receiver immediately. */
  putBack(taken: TakenLetter): Promise<void>;
  /** Deletes the letter. */
  remove(taken: TakenLetter): Promise<void>;
}

/** The number of recent letters that are remembered: more than a process stores during one outage. */
const KNOWN_LETTERS = 1_000;

/**
 * Stores each letter once per process, so that a caller that retries every minute does not fill the queue with copies. A copy
 * from another process is harmless, because all copies are redriven under the same key.
 */
export function keepOnce(letters: DeadLetters): DeadLetters {
  const known = new Set<string>();
  return {
    put: async (letter, queue = 'dead') => {
      // Its caller has handed the work over, and does not repeat the call.
      if (queue === 'delayed') return letters.put(letter, queue);
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
