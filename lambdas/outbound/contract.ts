/** How an operator's command asks the function that looks after dead letters: by invoking it with a LetterOrder. */
export interface LetterOrder {
  readonly action: 'list' | 'redrive';
  /** 1 to MOST_LETTERS. */
  readonly atMost: number;
}

/** With a vendor that is away each letter costs seconds: more would not fit into one run. */
export const MOST_LETTERS = 100;

export interface LetterAnswer {
  readonly letters: readonly LetterReport[];
}

/** One letter as an operator sees it: never what is in it. */
export interface LetterReport {
  readonly id: string;
  readonly vendor: string;
  readonly operation: string;
  /** Unix milliseconds. */
  readonly keptSinceMs: number;
  /** Sent and never answered. */
  readonly mayBeApplied: boolean;
  /** `kept`: listed; `stays`: tried, or not fit to be tried, and kept. The others are gone from the box. */
  readonly state: 'kept' | 'applied' | 'refused' | 'stays';
  /** Why it is there, or was refused. */
  readonly reason: string;
}
