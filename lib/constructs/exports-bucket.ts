import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { EXPORTS_FOLDER, FILE_DAYS } from '../../lambdas/exports/contract.ts';
import { bucketEncryption } from './data-key.ts';

/**
 * Bucket of export files. It deletes a file after `FILE_DAYS` days, because the file can be recreated at any time.
 * CloudFormation cannot delete a bucket that contains files, so the bucket is retained when its stack is deleted, and
 * becomes empty after at most these days.
 */
export class ExportsBucket extends Construct {
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.bucket = new Bucket(this, 'Bucket', {
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      ...bucketEncryption(this),
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      lifecycleRules: [
        {
          id: 'Expire',
          expiration: Duration.days(FILE_DAYS),
          abortIncompleteMultipartUploadAfter: Duration.days(FILE_DAYS),
        },
      ],
    });
    const logs =
      'CloudTrail data events record requests, if the account enables them. Links are created only for callers of the API, and the API has an access log.';
    const copies = 'A file can be exported again at any time, and is deleted after some days.';
    Validations.of(this.bucket).acknowledge(
      { id: 'AwsSolutions::AwsSolutions-S1', reason: logs },
      { id: 'PCI.DSS.321::PCI.DSS.321-S3BucketLoggingEnabled', reason: logs },
      { id: 'PCI.DSS.321::PCI.DSS.321-S3BucketReplicationEnabled', reason: copies },
      { id: 'PCI.DSS.321::PCI.DSS.321-S3BucketVersioningEnabled', reason: copies },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-S3DefaultEncryptionKMS',
        reason: 'A KMS key costs money. Files are encrypted with S3-managed keys and contain no personal data.',
      },
    );
  }

  grantFiles({ grantPrincipal }: IGrantable, sid: string, actions: readonly string[]): void {
    const resources = [this.bucket.arnForObjects(`${EXPORTS_FOLDER}*`)];
    grantPrincipal.addToPrincipalPolicy(new PolicyStatement({ sid, actions: [...actions], resources }));
  }
}
