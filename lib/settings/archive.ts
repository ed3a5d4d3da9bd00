import { flag, KEY_ARN, matching, PREFIX, type Rule, whole } from './rules.ts';

export interface ArchiveSettings {
  /**
   * Archives every Ledger row in a bucket whose objects cannot be changed or removed. The objects stay locked for
   * `archiveYears`, even when the stacks are deleted.
   * @default false
   */
  readonly archive: boolean;
  /**
   * The archive's bucket, if it is in another account. The stack `PayonceArchive` with `archiveWriter` creates it
   * there.
   * @default the stack `PayonceArchive` of this account creates it
   */
  readonly archiveBucket?: string;
  /**
   * The account whose archiver writes to the bucket. Set it when you deploy into a logging account. In this case, only
   * the stack `PayonceArchive` is created.
   * @default this account
   */
  readonly archiveWriter?: string;
  /**
   * Lock mode. In `governance` mode, an administrator can remove the lock of an object; in `compliance` mode, no
   * principal can.
   * @default governance
   */
  readonly archiveMode: 'governance' | 'compliance';
  /**
   * Years for which an object is locked, 1 to 100. For a trial, 0 locks objects for one day.
   * @default 7
   */
  readonly archiveYears: number;
  /**
   * The ARN of the KMS key that encrypts the archive, in the account of its bucket.
   * @default a key managed by S3
   */
  readonly archiveKeyArn?: string;
  /**
   * The ARN of an asymmetric KMS key (`ECC_NIST_P256`, `SIGN_VERIFY`) that signs the manifests of the archive.
   * @default manifests have no signature
   */
  readonly archiveSigningKeyArn?: string;
  /**
   * Days after which objects move to the storage class S3 Glacier Instant Retrieval, 30 to 3650.
   * @default objects do not move
   */
  readonly archiveColdAfterDays?: number;
  /**
   * Batching window of the archiver, 0 to 300 seconds. The longer the window, the fewer objects are written.
   * @default 300
   */
  readonly archiveBatchSeconds: number;
}

export const ARCHIVE_DEFAULTS = {
  archive: false,
  archiveMode: 'governance',
  archiveYears: 7,
  archiveBatchSeconds: 300,
} as const;

const MODES = ['governance', 'compliance'] as const;

export const ARCHIVE_RULES = {
  archive: flag(),
  archiveBucket: {
    allowed: 'the name of a bucket: 3 to 63 lower-case letters, digits, hyphens and full stops',
    read: matching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/),
  },
  archiveWriter: { allowed: 'the 12 digits of an AWS account', read: matching(/^\d{12}$/) },
  archiveMode: {
    allowed: MODES.join(' or '),
    read: (given: unknown) => MODES.find((mode) => mode === given),
  },
  archiveYears: whole(0, 100),
  archiveKeyArn: KEY_ARN,
  archiveSigningKeyArn: KEY_ARN,
  archiveColdAfterDays: whole(30, 3_650),
  archiveBatchSeconds: whole(0, 300),
} satisfies Record<keyof ArchiveSettings, Rule<unknown>>;

/**
 * Refuses archive settings that contradict each other.
 * @throws Error when `archiveBucket` is set without `archive`, or `archiveWriter` is set with `archive`
 */
export function refuseArchiveConflicts({ archive, archiveBucket, archiveWriter }: ArchiveSettings): void {
  if (archiveBucket !== undefined && !archive)
    throw new Error(`${PREFIX}archiveBucket is ${archiveBucket}, but ${PREFIX}archive is false: set it to true`);
  if (archiveWriter !== undefined && archive)
    throw new Error(
      `${PREFIX}archiveWriter is ${archiveWriter}, so only the bucket of that account's archive is created here, but ${PREFIX}archive is true: set only one of them`,
    );
}
