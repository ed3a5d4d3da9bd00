/** Types of the lab server's responses (demo/lab/server.ts). */

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
  readonly trouble: string;
  readonly moves: 'charge' | 'refund';
  readonly isInDemo: boolean;
}

export interface LabSide {
  /** Undefined until the failure was caused on this side. */
  readonly payment?: string;
  /** Only set for Payonce. */
  readonly timeline?: string;
  /** The counts are final after the run has ended. */
  readonly counts?: Counts;
  /** Set when the run is `done`. */
  readonly verdict?: string;
  /** Set when the run is `done`. */
  readonly isExact?: boolean;
}

export interface LabRun {
  readonly id: string;
  readonly trouble: LabTrouble;
  readonly authority: Authority;
  readonly state: 'running' | 'done' | 'failed';
  readonly steps: readonly string[];
  readonly naive: LabSide;
  readonly payonce: LabSide;
  /** Set when the run is `done`. */
  readonly row?: readonly string[];
  readonly error?: string;
}

/** Response to `GET /lab`. */
export interface LabState {
  readonly console: string;
  /** The authority of the running stack. The first run with the other authority starts a second stack. */
  readonly authority: Authority;
  readonly troubles: readonly LabTrouble[];
  readonly head: readonly string[];
  /** Newest first. */
  readonly runs: readonly LabRun[];
}
