/** A call to a vendor that was given up, kept so that it can be made again later. */
export interface DeadLetter {
  readonly vendor: string;
  readonly operation: string;
  /** All that is needed to make the call again; JSON, and never a credential. */
  readonly payload: object;
  /** How often it was sent. */
  readonly attempts: number;
  /** The fault's code. */
  readonly reason: string;
  /** Sent and never answered: to be looked up before it is sent again. */
  readonly mayBeApplied: boolean;
}

export interface DeadLetters {
  /** Durable when it returns. The same letter twice is harmless: it is made again under the same key. */
  put(letter: DeadLetter): Promise<void>;
}

/** A letter out of its box; for some minutes nobody else gets it, and then it is back by itself. */
export interface TakenLetter {
  readonly id: string;
  /** Names this taking, for `remove` and `putBack`. */
  readonly receipt: string;
  /** Undefined when it cannot be read: it is kept all the same. */
  readonly letter?: DeadLetter;
  /** Unix milliseconds. */
  readonly keptSinceMs: number;
}

/** Where dead letters lie until they are made again; for two weeks. In no promised order. */
export interface LetterBox extends DeadLetters {
  /** At most ten, and not necessarily all that there are; empty when there is probably none. */
  take(atMost: number): Promise<readonly TakenLetter[]>;
  /** For the next one who takes, at once. */
  putBack(taken: TakenLetter): Promise<void>;
  /** For ever. */
  remove(taken: TakenLetter): Promise<void>;
}
