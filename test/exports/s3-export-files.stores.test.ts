import { CreateBucketCommand, GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { beforeAll, expect, test } from '@jest/globals';
import { fileOf, initialExport } from '../../lambdas/exports/domain/data-export.ts';
import { linkTo, S3ExportFiles } from '../../lambdas/exports/store/s3-export-files.ts';
import { CREDENTIALS, emulatedAws } from '../support/local-aws.ts';
import { describeExportFiles } from './export-files-suite.ts';
import { requested } from './export-world.ts';

const bucket = `export-suite-${process.pid}`;
let client: S3Client;

beforeAll(async () => {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  client = new S3Client({ endpoint, region, credentials: CREDENTIALS, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
});

describeExportFiles('S3', async () => ({
  files: new S3ExportFiles(client, bucket),
  text: async (Key) => (await client.send(new GetObjectCommand({ Bucket: bucket, Key }))).Body?.transformToString(),
}));

test('a link opens its file without credentials, and the file has a descriptive name', async () => {
  const files = new S3ExportFiles(client, bucket);
  const asked = initialExport(requested('exp_linked'));
  const file = fileOf(asked);
  const uploadId = await files.begin(file);
  await files.end(file, uploadId, [await files.part(file, uploadId, 1, 'a,b\r\n')]);
  const link = await linkTo(client, bucket, asked);

  const answer = await fetch(link);
  expect([answer.status, await answer.text()]).toEqual([200, 'a,b\r\n']);
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="entries-2026-02-01-2026-02-01.csv"');
  expect(link).toContain('X-Amz-Expires=900');
});
