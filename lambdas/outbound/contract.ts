/** Payload with which the operator's command invokes the dead-letter function. */
export interface DeadLetterRequest {
  readonly action: 'list' | 'redrive';
  /** 1 to MAX_DEAD_LETTERS. */
  readonly atMost: number;
}

/**
 * While a vendor is unavailable, each of its dead letters takes seconds, so a larger number would not fit into one run.
 */
export const MAX_DEAD_LETTERS = 100;

export interface DeadLetterResponse {
  readonly deadLetters: readonly DeadLetterReport[];
}

export interface DeadLetterReport {
  readonly id: string;
  readonly vendor: string;
  readonly operation: string;
  /** Null for a call without an order. */
  readonly order: string | null;
  /** Time at which the call was stored. */
  readonly keptSinceMs: number;
  /** Whether the call may have been applied, for example because it was sent but got no response. */
  readonly mayBeApplied: boolean;
  /**
   * `kept`: only listed. `stays`: still in the queue, because the redrive failed or is not possible. `applied`,
   * `refused`: removed.
   */
  readonly state: 'kept' | 'applied' | 'refused' | 'stays';
  /** The fault's code, or the reason of the refusal. */
  readonly reason: string;
}
