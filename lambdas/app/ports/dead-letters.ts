/** A call that was given up, kept so that it can be made again later. */
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
  /** Durable when it returns. */
  put(letter: DeadLetter): Promise<void>;
}
