/**
 * Maximum time that one execution of the archiver waits for an unavailable archive, before Lambda redelivers the batch.
 * Seconds.
 */
export const ARCHIVER_WAITS_SECONDS = 540;

/** Time after which one execution of the auditor begins no further work. The next hourly run continues. Seconds. */
export const AUDITOR_WORKS_SECONDS = 720;

/** Hours without a manifest after which an alarm starts: an hourly run may be delayed by an hour, and one may fail. */
export const MANIFESTS_LATE_HOURS = 3;

/** The input of the archiver: a batch of the Stream, or rows that an operator adds to the archive. */
export interface ArchiverRequest {
  readonly Records: readonly unknown[];
  /** The records are made from rows of the Ledger, because the Stream no longer has them. @default false */
  readonly isLate?: boolean;
}

/** The name under which the auditor counts. */
export const AUDITOR_SERVICE = 'archive-auditor';
