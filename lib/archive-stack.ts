import { CfnOutput, Duration, RemovalPolicy, Stack, type StackProps, Validations } from 'aws-cdk-lib';
import { AccountPrincipal, AnyPrincipal, Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  ObjectLockRetention,
  ObjectOwnership,
  StorageClass,
} from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { StackName, StackOutput } from '../lambdas/kernel/contract/api.ts';
import type { Settings } from './settings.ts';

export interface ArchiveStackProps extends StackProps {
  readonly settings: Pick<
    Settings,
    'archiveMode' | 'archiveYears' | 'archiveKeyArn' | 'archiveColdAfterDays' | 'archiveWriter'
  >;
}

/** Actions that remove an object or bypass its lock. Extending a lock is allowed. */
const REMOVALS = ['s3:DeleteObject', 's3:DeleteObjectVersion', 's3:BypassGovernanceRetention'];

/**
 * Creates the archive bucket. The bucket is versioned and locks every object; under its policy, objects are written
 * once and never removed. The stack can be deployed into a logging account. The bucket is always retained when the
 * stack is deleted.
 */
export class ArchiveStack extends Stack {
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string, props: ArchiveStackProps) {
    super(scope, id, { ...props, terminationProtection: true });
    const { archiveMode, archiveYears, archiveKeyArn, archiveColdAfterDays, archiveWriter } = props.settings;
    // In a trial deployment (0 years), objects are locked for one day.
    const locked = Duration.days(archiveYears === 0 ? 1 : archiveYears * 365);
    this.bucket = new Bucket(this, 'Bucket', {
      versioned: true,
      objectLockEnabled: true,
      objectLockDefaultRetention:
        archiveMode === 'compliance' ? ObjectLockRetention.compliance(locked) : ObjectLockRetention.governance(locked),
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      ...(archiveKeyArn === undefined
        ? { encryption: BucketEncryption.S3_MANAGED }
        : {
            encryption: BucketEncryption.KMS,
            encryptionKey: Key.fromKeyArn(this, 'Key', archiveKeyArn),
            // With a bucket key, S3 sends one KMS request for many objects.
            bucketKeyEnabled: true,
          }),
      ...(archiveColdAfterDays === undefined
        ? {}
        : {
            lifecycleRules: [
              {
                id: 'Cold',
                transitions: [
                  {
                    storageClass: StorageClass.GLACIER_INSTANT_RETRIEVAL,
                    transitionAfter: Duration.days(archiveColdAfterDays),
                  },
                ],
              },
            ],
          }),
    });
    this.#deny();
    if (archiveWriter !== undefined) this.#trust(archiveWriter);
    this.#acknowledge();
    new CfnOutput(this, StackOutput.archiveBucket, { value: this.bucket.bucketName });
  }

  /** An explicit deny overrides every allow in any account. */
  #deny(): void {
    const everybody = { effect: Effect.DENY, principals: [new AnyPrincipal()] };
    const objects = [this.bucket.arnForObjects('*')];
    this.bucket.addToResourcePolicy(
      new PolicyStatement({
        ...everybody,
        sid: 'WrittenOnce',
        actions: ['s3:PutObject'],
        resources: objects,
        // Denies writes without an `If-None-Match` header (Amazon S3 user guide, "Enforce conditional writes on Amazon
        // S3 buckets"). A multipart upload cannot send this header, and is not needed.
        conditions: { Null: { 's3:if-none-match': 'true' } },
      }),
    );
    this.bucket.addToResourcePolicy(
      new PolicyStatement({
        ...everybody,
        sid: 'NeverRemoved',
        actions: REMOVALS,
        resources: objects,
      }),
    );
  }

  /**
   * Allows the roles of the service stack in another account to write objects. Allows that account to read objects; its
   * IAM policies decide which of its principals may do so.
   */
  #trust(account: string): void {
    const principals = [new AccountPrincipal(account)];
    this.bucket.addToResourcePolicy(
      new PolicyStatement({
        sid: 'Write',
        principals,
        actions: ['s3:PutObject'],
        resources: [this.bucket.arnForObjects('*')],
        conditions: { ArnLike: { 'aws:PrincipalArn': `arn:*:iam::${account}:role/*${StackName.service}-*` } },
      }),
    );
    this.bucket.addToResourcePolicy(
      new PolicyStatement({
        sid: 'Read',
        principals,
        actions: ['s3:GetObject', 's3:GetObjectVersion', 's3:GetObjectRetention'],
        resources: [this.bucket.arnForObjects('*')],
      }),
    );
    this.bucket.addToResourcePolicy(
      new PolicyStatement({
        sid: 'List',
        principals,
        actions: [
          's3:ListBucket',
          's3:ListBucketVersions',
          's3:GetBucketObjectLockConfiguration',
          's3:GetBucketVersioning',
          's3:GetBucketPolicy',
          's3:GetBucketPublicAccessBlock',
          's3:GetLifecycleConfiguration',
        ],
        resources: [this.bucket.bucketArn],
      }),
    );
  }

  #acknowledge(): void {
    const logs =
      'Access logs would be objects without a lock. CloudTrail data events record requests, if the account enables them.';
    Validations.of(this.bucket).acknowledge(
      { id: 'AwsSolutions::AwsSolutions-S1', reason: logs },
      { id: 'PCI.DSS.321::PCI.DSS.321-S3BucketLoggingEnabled', reason: logs },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-S3BucketReplicationEnabled',
        reason:
          'The account that owns the archive decides whether to keep a second copy. The Ledger has its own backups.',
      },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-S3DefaultEncryptionKMS',
        reason: 'A KMS key costs money. The setting payonce:archiveKeyArn selects one.',
      },
    );
  }
}
