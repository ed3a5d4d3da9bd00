/** The answers of the lab's server (demo/lab/server.ts). */

interface Counts {
  /** Charges or refunds in the processor's list. */
  readonly atProcessor: number;
  readonly postings: number;
  readonly events: number;
  readonly effects: number;
}

export interface LabTrouble {
  readonly id: string;
  /** A description of the failure. */
  readonly trouble: string;
  /** The objects to count at the processor. */
  readonly moves: 'charge' | 'refund';
  /** Whether `npm run demo` runs it, too. */
  readonly isInDemo: boolean;
}

export interface LabSide {
  /** Undefined until the failure was caused on this side. */
  readonly payment?: string;
  /** The address of the payment's timeline in the console; only for Payonce. */
  readonly timeline?: string;
  /** The current counts, which are final once the run is done. */
  readonly counts?: Counts;
  /** A description of the result, once the run is done. */
  readonly verdict?: string;
  /** Whether each effect took place exactly as often as it must, once the run is done. */
  readonly isExact?: boolean;
}

export interface LabRun {
  readonly id: string;
  readonly trouble: LabTrouble;
  readonly state: 'running' | 'done' | 'failed';
  /** Descriptions of the steps, in chronological order. */
  readonly steps: readonly string[];
  readonly naive: LabSide;
  readonly payonce: LabSide;
  /** The row of this run in the table of `npm run demo`, once it is done. */
  readonly row?: readonly string[];
  /** The reason of the failure. */
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
