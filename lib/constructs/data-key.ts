import { Stack } from 'aws-cdk-lib';
import { TableEncryption, type TableProps } from 'aws-cdk-lib/aws-dynamodb';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { BucketEncryption, type BucketProps } from 'aws-cdk-lib/aws-s3';
import { QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { dataKeyOf } from '../settings.ts';

/** Uses the key from the setting `dataKeyArn` if it is set. */
export function tableEncryption(scope: Construct): Pick<TableProps, 'encryption' | 'encryptionKey'> {
  const encryptionKey = dataKey(scope);
  if (encryptionKey === undefined) return { encryption: TableEncryption.AWS_MANAGED };
  return { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey };
}

export function queueEncryption(scope: Construct): Pick<QueueProps, 'encryption' | 'encryptionMasterKey'> {
  const encryptionMasterKey = dataKey(scope);
  if (encryptionMasterKey === undefined) return { encryption: QueueEncryption.SQS_MANAGED };
  return { encryption: QueueEncryption.KMS, encryptionMasterKey };
}

export function bucketEncryption(
  scope: Construct,
): Pick<BucketProps, 'encryption' | 'encryptionKey' | 'bucketKeyEnabled'> {
  const encryptionKey = dataKey(scope);
  if (encryptionKey === undefined) return { encryption: BucketEncryption.S3_MANAGED };
  // With a bucket key, S3 sends one KMS request for many objects.
  return { encryption: BucketEncryption.KMS, encryptionKey, bucketKeyEnabled: true };
}

/**
 * The stacks grant the key to no role, except that the CDK grants it to roles that use queues. The key's policy admits
 * the account through DynamoDB, SQS and S3 (docs/operate/data-key.md), so no role can be omitted by mistake. The
 * policies of the tables, queues and buckets decide who uses the data.
 */
function dataKey(scope: Construct): IKey | undefined {
  const arn = dataKeyOf(scope.node);
  if (arn === undefined) return undefined;
  const stack = Stack.of(scope);
  return (stack.node.tryFindChild('DataKey') as IKey | undefined) ?? Key.fromKeyArn(stack, 'DataKey', arn);
}
