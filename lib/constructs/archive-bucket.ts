/** A bucket of this account or of another one. */
export interface ArchiveBucket {
  readonly name: string;
  /** The name as cdk-nag prints it. */
  readonly shown: string;
}
