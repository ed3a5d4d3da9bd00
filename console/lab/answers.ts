/** Types of the lab server's responses (demo/lab/server.ts). */

/** Payonce's system of record. */
export type Authority = 'dynamodb' | 'postgres';

interface Counts {
  /** Number of charges or refunds in the processor's list. */
  readonly atProcessor: number;
  readonly postings: number;
  readonly events: number;
  readonly effects: number;
}

export interface LabTrouble {
  readonly id: string;
  /** Description of the failure that the run causes. */
  readonly trouble: string;
  /** Kind of objects that are counted at the processor. */
  readonly moves: 'charge' | 'refund';
  /** Whether `npm run demo` also runs this failure. */
  readonly isInDemo: boolean;
}

export interface LabSide {
  /** Undefined until this side has run the failure scenario. */
  readonly payment?: string;
  /** The address of the payment's timeline in the console. Only set for Payonce. */
  readonly timeline?: string;
  /** The current counts. Final after the run has ended. */
  readonly counts?: Counts;
  /** A description of the result. Set after the run has ended. */
  readonly verdict?: string;
  /** Whether each effect took place exactly as often as required. Set after the run has ended. */
  readonly isExact?: boolean;
}

export interface LabRun {
  readonly id: string;
  readonly trouble: LabTrouble;
  readonly authority: Authority;
  readonly state: 'running' | 'done' | 'failed';
  /** Descriptions of the steps, in chronological order. */
  readonly steps: readonly string[];
  readonly naive: LabSide;
  readonly payonce: LabSide;
  /** The row of this run in the table of `npm run demo`. Set after the run has ended. */
  readonly row?: readonly string[];
  readonly error?: string;
}

/** Response to `GET /lab`. */
export interface LabState {
  readonly console: string;
  /** The authority of the running stack. A run with the other authority starts a second stack. */
  readonly authority: Authority;
  readonly troubles: readonly LabTrouble[];
  /** The column titles for the rows of runs. */
  readonly head: readonly string[];
  /** All runs, newest first. */
  readonly runs: readonly LabRun[];
}
