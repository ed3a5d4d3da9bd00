/** A call that has failed, or whose outcome is unknown. It is stored for a redrive or an operator's decision. */
export interface DeadLetter {
  readonly vendor: string;
  readonly operation: string;
  /** The order that the call belongs to. Absent for a call without an order. */
  readonly about?: string;
  /** Everything that is needed to repeat the call, as JSON. Never contains credentials. */
  readonly payload: object;
  /** Number of times the call was sent. */
  readonly attempts: number;
  /** The fault's code. */
  readonly reason: string;
  /** Whether the call may have been applied, for example because it was sent but got no response. */
  readonly mayBeApplied: boolean;
}

export interface DeadLetters {
  /** A duplicate is harmless, because it is redriven under the same idempotency key. */
  put(deadLetter: DeadLetter, queue?: DeadLetterQueueName): Promise<void>;
}

/**
 * `dead`: calls for an operator. `delayed`: calls that a function attempts one last time, half a minute later, and
 * dead-letters if they fail.
 *
 * @default dead
 */
export type DeadLetterQueueName = 'dead' | 'delayed';

/** Hidden from other receivers for some minutes; then it becomes visible again. */
export interface TakenDeadLetter {
  readonly id: string;
  /** For `remove` and `release`. */
  readonly receipt: string;
  /** Undefined if the message cannot be read. Such a message stays in the queue. */
  readonly deadLetter?: DeadLetter;
  /** Time at which the dead letter was stored. */
  readonly keptSinceMs: number;
}

/** Stores dead letters for up to two weeks, in no guaranteed order. */
export interface DeadLetterStore extends DeadLetters {
  /** Never receives more than ten, even if the queue has more. An empty result means that there are probably none. */
  take(atMost: number): Promise<readonly TakenDeadLetter[]>;
  /** Makes the dead letter visible to the next receiver immediately. */
  release(taken: TakenDeadLetter): Promise<void>;
  remove(taken: TakenDeadLetter): Promise<void>;
}

/** More than a process stores during one outage. */
const MAX_REMEMBERED = 1_000;

/**
 * Stores each dead letter once per process, so that a caller that retries every minute does not fill the queue with
 * copies. A copy from another process is harmless, because all copies are redriven under the same key.
 */
export function storeOnce(deadLetters: DeadLetters): DeadLetters {
  const known = new Set<string>();
  return {
    put: async (deadLetter, queue = 'dead') => {
      // Do not deduplicate: after a delayed call is stored, its caller does not repeat it.
      if (queue === 'delayed') return deadLetters.put(deadLetter, queue);
      const { vendor, operation, payload } = deadLetter;
      const call = JSON.stringify([vendor, operation, payload]);
      if (known.has(call)) return;
      await deadLetters.put(deadLetter);
      known.add(call);
      const [oldest] = known;
      if (known.size > MAX_REMEMBERED && oldest !== undefined) known.delete(oldest);
    },
  };
}
