/** The payload with which the operator's command invokes the function for dead letters. */
export interface LetterOrder {
  readonly action: 'list' | 'redrive';
  /** 1 to MOST_LETTERS. */
  readonly atMost: number;
}

/** Letters per run. Each letter takes seconds while its vendor is unavailable, so more would not fit into one run. */
export const MOST_LETTERS = 100;

export interface LetterAnswer {
  readonly letters: readonly LetterReport[];
}

/** One letter as shown to an operator, without its payload. */
export interface LetterReport {
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
