import type { Verification, VerifiedKind } from '../domain/verification.ts';

export interface RecordedVerifications {
  readonly verifications: readonly Verification[];
  /** Number of objects that are not records of the auditor. */
  readonly unreadable: number;
}

/** Records are never changed or removed. */
export interface Verifications {
  write(verification: Verification): Promise<void>;
  /**
   * Lists the newest records, followed by earlier records of verifications that failed or found violations.
   * @param most maximum number of records in each of these two groups
   */
  newest(kind: VerifiedKind, most: number): Promise<RecordedVerifications>;
}
