/**
 * Maximum time that one execution of the archiver waits for an unavailable archive before Lambda redelivers the batch,
 * in seconds.
 */
export const ARCHIVER_WAITS_SECONDS = 540;

/** Time after which an execution of the auditor begins no further manifest, in seconds. The next run continues. */
export const AUDITOR_WORKS_SECONDS = 720;

/**
 * Age of the newest manifest, in hours, above which an alarm is raised. One hourly run may be late, and one may fail,
 * without an alarm.
 */
export const MANIFESTS_LATE_HOURS = 3;

/** The input of the archiver: a batch of Stream records, or rows that an operator adds to the archive. */
export interface ArchiverRequest {
  readonly Records: readonly unknown[];
  /**
   * Whether the records were rebuilt from Ledger rows, because the Stream no longer has them.
   * @default false
   */
  readonly isLate?: boolean;
}

/** The service name in the auditor's metrics. */
export const AUDITOR_SERVICE = 'archive-auditor';
