import type { Verification, VerifiedKind } from '../domain/verification.ts';

/** The newest records of one kind. */
export interface RecordedVerifications {
  /** Newest first. */
  readonly verifications: readonly Verification[];
  /** Objects that are no records of the auditor. */
  readonly unreadable: number;
}

/** The records of what was verified. None is ever changed or removed. */
export interface Verifications {
  write(verification: Verification): Promise<void>;
  /** @param most of the newest; earlier ones that did not hold follow, as many at most */
  newest(kind: VerifiedKind, most: number): Promise<RecordedVerifications>;
}
