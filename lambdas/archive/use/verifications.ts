import type { Verification, VerifiedKind } from '../domain/verification.ts';

/** The newest records of one kind. */
export interface RecordedVerifications {
  /** Newest first. */
  readonly verifications: readonly Verification[];
  /** Number of objects that are not records of the auditor. */
  readonly unreadable: number;
}

/** The records of verifications. None is ever changed or removed. */
export interface Verifications {
  write(verification: Verification): Promise<void>;
  /** @param most maximum number of the newest records, and of earlier ones with violations, which follow */
  newest(kind: VerifiedKind, most: number): Promise<RecordedVerifications>;
}
