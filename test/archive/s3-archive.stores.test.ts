import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { S3Archive } from '../../lambdas/archive/store/s3-archive.ts';
import { S3Objects } from '../../lambdas/archive/store/s3-objects.ts';
import { CREDENTIALS, emulatedAws } from '../support/local-aws.ts';
import { describeArchiveBucket } from './archive-bucket-suite.ts';

let made = 0;

describeArchiveBucket('S3', async () => {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  const client = new S3Client({ endpoint, region, credentials: CREDENTIALS, forcePathStyle: true });
  made += 1;
  const Bucket = `archive-suite-${process.pid}-${made}`;
  await client.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }));
  const [writer, reader] = [new S3Archive(client, Bucket), new S3Objects(client, Bucket)];
  return {
    put: (object) => writer.put(object),
    names: (...of) => reader.names(...of),
    text: (name) => reader.text(name),
  };
});
