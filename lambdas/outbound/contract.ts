/** The payload with which the operator's command invokes the function for dead letters. */
export interface DeadLetterRequest {
  readonly action: 'list' | 'redrive';
  /** 1 to MAX_DEAD_LETTERS. */
  readonly atMost: number;
}

/** Maximum number of dead letters per run. Each takes seconds while its vendor is unavailable, so more would not fit into one run. */
export const MAX_DEAD_LETTERS = 100;

export interface DeadLetterResponse {
  readonly deadLetters: readonly DeadLetterReport[];
}

/** One dead letter as shown to an operator, without its payload. */
export interface DeadLetterReport {
  readonly id: string;
  readonly vendor: string;
  readonly operation: string;
  /** The order of the call; null for a call of no order. */
  readonly order: string | null;
  /** Unix milliseconds. */
  readonly keptSinceMs: number;
  /** The call was sent and got no answer. */
  readonly mayBeApplied: boolean;
  /** `kept`: listed. `stays`: redriven without success or not redrivable, and kept. `applied`, `refused`: removed. */
  readonly state: 'kept' | 'applied' | 'refused' | 'stays';
  /** The fault's code, or the reason of the refusal. */
  readonly reason: string;
}
