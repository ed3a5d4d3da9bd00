/** What the function that publishes events again is asked, and what it answers. Times in Unix milliseconds. */
export interface RepublishRequest {
  readonly sinceMs: number;
  readonly untilMs: number;
}

export interface RepublishAnswer {
  /** Outcomes that the Ledger has in what was walked through. */
  readonly found: number;
  readonly published: number;
  /** What nobody can read, and what the bus will never take: the log says what; left out when there is none. */
  readonly unpublishable?: number;
  /** Where the next request should begin; left out when all is done. */
  readonly nextMs?: number;
}

/** One request works for so long, then says where to go on. Seconds. */
export const REPUBLISH_RUN_SECONDS = 45;

/** What is under way may be published while the run ends. Seconds. */
export const REPUBLISH_TIMEOUT_SECONDS = 60;
