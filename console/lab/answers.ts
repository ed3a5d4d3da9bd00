/** What the lab's server answers (demo/lab/server.ts). */

interface Counts {
  /** Charges or refunds in the processor's list. */
  readonly atProcessor: number;
  readonly postings: number;
  readonly events: number;
  readonly effects: number;
}

export interface LabTrouble {
  readonly id: string;
  /** What goes wrong, in words. */
  readonly trouble: string;
  /** What is counted at the processor. */
  readonly moves: 'charge' | 'refund';
  /** Whether `npm run demo` runs it, too. */
  readonly isInDemo: boolean;
}

export interface LabSide {
  /** Undefined until the trouble was caused on this side. */
  readonly payment?: string;
  /** Where the console shows what happened to the payment; only Payonce has it. */
  readonly timeline?: string;
  /** The counts now, and the final ones once the run is done. */
  readonly counts?: Counts;
  /** In words, once the run is done. */
  readonly verdict?: string;
  /** Whether each effect took place exactly as often as it must, once the run is done. */
  readonly isExact?: boolean;
}

export interface LabRun {
  readonly id: string;
  readonly trouble: LabTrouble;
  readonly state: 'running' | 'done' | 'failed';
  /** In words, in the order of time. */
  readonly steps: readonly string[];
  readonly naive: LabSide;
  readonly payonce: LabSide;
  /** The row of this run in the table of `npm run demo`, once it is done. */
  readonly row?: readonly string[];
  /** Why it failed. */
  readonly error?: string;
}

/** `GET /lab` */
export interface LabState {
  readonly console: string;
  readonly troubles: readonly LabTrouble[];
  /** The titles of the columns of a row. */
  readonly head: readonly string[];
  /** Newest first. */
  readonly runs: readonly LabRun[];
}
