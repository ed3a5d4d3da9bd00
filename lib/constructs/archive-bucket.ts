import { Aws, Validations } from 'aws-cdk-lib';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';

/** The bucket of the archive, in this account or a different one. */
export interface ArchiveBucket {
  readonly name: string;
  /** The bucket name in the form that cdk-nag prints. */
  readonly shown: string;
}

export function grantVerify({ name, shown }: ArchiveBucket, role: Role): void {
  const bucket = `arn:${Aws.PARTITION}:s3:::${name}`;
  const actions = [
    's3:ListBucket',
    's3:ListBucketVersions',
    's3:GetBucketObjectLockConfiguration',
    's3:GetBucketPolicy',
    's3:GetBucketPublicAccessBlock',
    's3:GetBucketVersioning',
    's3:GetLifecycleConfiguration',
  ];
  role.addToPolicy(new PolicyStatement({ sid: 'ListArchive', actions, resources: [bucket] }));
  grantObjects({ name, shown }, role, ['ledger', 'manifests']);
}

/** The role can list all S3 keys, but reads no rows. */
export function grantReadAudit(bucket: ArchiveBucket, role: Role): void {
  const resources = [`arn:${Aws.PARTITION}:s3:::${bucket.name}`];
  role.addToPolicy(new PolicyStatement({ sid: 'ListArchive', actions: ['s3:ListBucket'], resources }));
  grantObjects(bucket, role, ['manifests', 'verifications']);
}

function grantObjects({ name, shown }: ArchiveBucket, role: Role, folders: readonly string[]): void {
  const resources = folders.map((folder) => `arn:${Aws.PARTITION}:s3:::${name}/${folder}/*`);
  role.addToPolicy(new PolicyStatement({ sid: 'ReadArchive', actions: ['s3:GetObject'], resources }));
  for (const folder of folders)
    Validations.of(role).acknowledge({
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::${shown}/${folder}/*]`,
      reason: 'A row can be in any object of the archive, and any manifest can list it.',
    });
}
