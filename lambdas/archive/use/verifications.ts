import type { Verification, VerifiedKind } from '../domain/verification.ts';

/** The newest verification records of one kind. */
export interface RecordedVerifications {
  readonly verifications: readonly Verification[];
  /** Number of objects that are not records of the auditor. */
  readonly unreadable: number;
}

/** Reads and writes verification records. Records are never changed or removed. */
export interface Verifications {
  write(verification: Verification): Promise<void>;
  /**
   * Lists the newest records, followed by earlier records that contain violations.
   * @param most maximum number of newest records, and of earlier records
   */
  newest(kind: VerifiedKind, most: number): Promise<RecordedVerifications>;
}
