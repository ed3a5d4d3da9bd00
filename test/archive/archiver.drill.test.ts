/** Tests the guarantee "complete archive". */
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { type Message, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, test } from '@jest/globals';
import { archiveAgain } from '../../cli/archiving.ts';
import { redrive } from '../../cli/redriving.ts';
import { LATE_PREFIX, LINES_PREFIX } from '../../lambdas/archive/domain/archive-object.ts';
import { judgeBucket } from '../../lambdas/archive/domain/judge-bucket.ts';
import { NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { MANIFESTS_PREFIX } from '../../lambdas/archive/domain/manifest.ts';
import { lateRecords } from '../../lambdas/archive/store/late-records.ts';
import { objectsWithSeveralVersions, readBucket } from '../../lambdas/archive/store/read-bucket.ts';
import { readChainRow } from '../../lambdas/archive/store/read-chain-row.ts';
import { archivedItem, readLine } from '../../lambdas/archive/store/read-line.ts';
import { S3Objects } from '../../lambdas/archive/store/s3-objects.ts';
import { StoredManifests } from '../../lambdas/archive/store/stored-manifests.ts';
import { verifyManifests } from '../../lambdas/archive/use/verify-manifests.ts';
import { parkedWork } from '../../lambdas/events/store/parked-work.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { signalProcess } from '../../local/processes.ts';
import { stackOutput } from '../events/event-listener.ts';
import { ApiClient } from '../support/api-client.ts';
import { administratorOfS3 } from '../support/assumed-role.ts';
import { workersOf } from '../support/lambda-workers.ts';
import { CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

const local = localAws();
const api = new ApiClient(local, local.apiKey);
const s3 = new S3Client({
  endpoint: local.awsEndpoint,
  region: local.region,
  credentials: CREDENTIALS,
  forcePathStyle: true,
});
let Bucket = '';

beforeAll(async () => {
  Bucket = await stackOutput('archive', 'archiveBucket');
});

async function objectNames(): Promise<readonly string[]> {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'ledger/' }));
  return Contents.map(({ Key = '' }) => Key);
}

const texts = new Map<string, string>();
async function textOf(Key: string): Promise<string> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
  return (await Body?.transformToString()) ?? '';
}

/** All lines of a row must be equal. */
async function archivedRows(): Promise<ReadonlyMap<string, { readonly item: unknown; readonly lines: Set<string> }>> {
  const rows = new Map<string, { readonly item: unknown; readonly lines: Set<string> }>();
  for (const name of await objectNames()) {
    if (!texts.has(name)) texts.set(name, await textOf(name));
    for (const text of (texts.get(name) ?? '').trimEnd().split('\n')) {
      const line = readLine(text);
      if (line.change !== 'INSERT') continue;
      const item = archivedItem(line.item);
      const place = `${String(item['pk'])} ${String(item['sk'])}`;
      const row = rows.get(place) ?? { item, lines: new Set() };
      row.lines.add(JSON.stringify(line.item));
      rows.set(place, row);
    }
  }
  return rows;
}

async function ledgerRows(payment: string): Promise<readonly Record<string, unknown>[]> {
  const { Items = [] } = await documentClient(dynamoDbClient()).send(
    new QueryCommand({
      TableName: local.tables.ledger,
      KeyConditionExpression: 'pk = :chain',
      ExpressionAttributeValues: { ':chain': `PAY#${payment}` },
      ConsistentRead: true,
    }),
  );
  return Items;
}

async function untilArchived(payments: readonly string[]): Promise<void> {
  const wanted = (await Promise.all(payments.map(ledgerRows))).flat();
  expect(wanted.length).toBeGreaterThanOrEqual(2 * payments.length);
  const found = await until(async () => {
    const rows = await archivedRows();
    return wanted.every(({ pk, sk }) => rows.has(`${String(pk)} ${String(sk)}`)) ? rows : undefined;
  });
  for (const row of wanted) {
    const archived = found.get(`${String(row['pk'])} ${String(row['sk'])}`);
    expect(archived?.item).toEqual(row);
    expect(archived?.lines.size).toBe(1);
  }
}

test('every row of a payment is archived, even if the archiver is killed', async () => {
  const run = crypto.randomUUID().slice(0, 8);
  const paid = async (name: string) =>
    String((await api.payUntilAnswered({ key: `archive-${run}-${name}` })).json['id']);
  const payments = [await paid('first')];
  await untilArchived(payments);
  const killed = await stackOutput('service', 'archiverFunction');
  for (let round = 0; round < 3; round += 1) {
    const paying = paid(`killed-${round}`);
    await until(async () => (workersOf(killed).length > 0 ? true : undefined));
    for (const pid of workersOf(killed)) signalProcess(pid, 'SIGKILL');
    payments.push(await paying);
  }
  await untilArchived(payments);
});

test('an archived object cannot be overwritten or removed, even by a principal with all permissions in S3 that bypasses the lock', async () => {
  const [Key = ''] = await objectNames();
  const body = await textOf(Key);
  const credentials = await administratorOfS3(`archive-${crypto.randomUUID().slice(0, 8)}`);
  const administrator = new S3Client({
    endpoint: local.awsEndpoint,
    region: local.region,
    credentials,
    forcePathStyle: true,
  });
  expect((await administrator.send(new GetObjectCommand({ Bucket, Key }))).ETag).toBeDefined();
  const put = (more: object) => administrator.send(new PutObjectCommand({ Bucket, Key, Body: 'forged', ...more }));
  await expect(put({})).rejects.toMatchObject({ name: 'AccessDenied' });
  await expect(put({ IfNoneMatch: '*' })).rejects.toMatchObject({ name: 'PreconditionFailed' });
  const remove = (more: object) => administrator.send(new DeleteObjectCommand({ Bucket, Key, ...more }));
  await expect(remove({})).rejects.toMatchObject({ name: 'AccessDenied' });
  const { Versions = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket, Prefix: Key }));
  expect(Versions).toHaveLength(1);
  const version = { VersionId: Versions[0]?.VersionId };
  for (const BypassGovernanceRetention of [false, true])
    await expect(remove({ ...version, BypassGovernanceRetention })).rejects.toMatchObject({ name: 'AccessDenied' });
  // The object lock by itself blocks the deletion, even for the root user. Only a governance bypass would allow it.
  await expect(s3.send(new DeleteObjectCommand({ Bucket, Key, ...version }))).rejects.toMatchObject({
    name: 'AccessDenied',
  });
  expect(await textOf(Key)).toBe(body);
});

test('the bucket has the protections that the stack declares, and each object has only one version', async () => {
  expect(judgeBucket(Bucket, await readBucket(s3, Bucket), { mode: 'governance', days: 7 * 365 })).toEqual([]);
  expect(await objectsWithSeveralVersions(s3, Bucket, NO_BOUNDS)).toEqual([]);
});

test('the auditor lists the objects in valid manifests, at most one an hour, and records a requested verification', async () => {
  const lambda = new LambdaClient({ endpoint: local.awsEndpoint, region: local.region, credentials: CREDENTIALS });
  const FunctionName = await stackOutput('service', 'auditorFunction');
  for (let time = 0; time < 2; time += 1)
    expect((await lambda.send(new InvokeCommand({ FunctionName, Payload: '{}' }))).FunctionError).toBeUndefined();
  const manifests = new StoredManifests(new S3Objects(s3, Bucket));
  const verified = await verifyManifests({ manifests, digest: systemDigest }, NO_BOUNDS, Date.now());
  expect(verified.findings).toEqual([]);
  // The schedule may already have written the manifest of this hour. It lacks the objects that arrived later, so only
  // objects that are more than a minute older than the newest manifest must be listed. The minute allows for
  // differences between clocks.
  const times = async (Prefix: string) => {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix }));
    return Contents.map(({ LastModified }) => LastModified?.getTime() ?? Number.NaN);
  };
  const listedMs = Math.max(...(await times(MANIFESTS_PREFIX)));
  const there = (await times(LINES_PREFIX)).filter((atMs) => atMs < listedMs - 60_000);
  expect(verified.objects).toBeGreaterThanOrEqual(Math.max(1, there.length));
  expect(verified.manifests).toBeLessThanOrEqual(2);
  // The hour decides which verifications are due, so the test requests an explicit period.
  const untilMs = Date.now();
  const Payload = JSON.stringify({ fromMs: untilMs - 3_600_000, untilMs });
  expect((await lambda.send(new InvokeCommand({ FunctionName, Payload }))).FunctionError).toBeUndefined();
  const headers = { authorization: `Bearer ${local.operatorKey}` };
  const { status, json } = await api.send('GET', '/v1/admin/audit', { headers });
  expect([status, json['archive']]).toEqual([200, Bucket]);
  // The verdict depends on other tests on the same stack, which change rows by hand.
  const asked = { to: Math.ceil(untilMs / 1_000), failure: null, verdict: expect.stringMatching(/^(holds|differs)$/) };
  expect(json['verified']).toContainEqual(
    expect.objectContaining({ kind: 'asked', verifications: [expect.objectContaining(asked)] }),
  );
  const newest = await manifests.newest();
  const { number, hash } = newest?.kind === 'read' ? newest.manifest : {};
  expect(json['manifests']).toContainEqual(expect.objectContaining({ number, hash, failure: null }));
});

test('late records are written to a late object with the same lines as the existing objects, and an operator can redrive a parked batch', async () => {
  const QueueUrl = await stackOutput('service', 'parkedArchiveQueue');
  const FunctionName = await stackOutput('service', 'archiverFunction');
  const payment = String((await api.payUntilAnswered({ key: `late-${crypto.randomUUID()}` })).json['id']);
  await untilArchived([payment]);
  const rows = (await ledgerRows(payment)).map((item) => ({ row: readChainRow(item), item }));
  const lambda = new LambdaClient({ endpoint: local.awsEndpoint, region: local.region, credentials: CREDENTIALS });
  for (const Records of lateRecords(rows)) {
    const Payload = JSON.stringify({ Records, isLate: true });
    expect((await lambda.send(new InvokeCommand({ FunctionName, Payload }))).FunctionError).toBeUndefined();
  }
  expect((await objectNames()).filter((name) => name.startsWith(LATE_PREFIX))).toHaveLength(1);
  await untilArchived([payment]);
  // The message has the form in which Lambda parks a batch. No row of its period is missing in the archive.
  const approximateArrivalOfFirstRecord = new Date(Date.now() - 3_600_000).toISOString();
  const batch = { approximateArrivalOfFirstRecord, approximateArrivalOfLastRecord: approximateArrivalOfFirstRecord };
  const sqs = new SQSClient({ endpoint: local.awsEndpoint, region: local.region, credentials: CREDENTIALS });
  const MessageBody = JSON.stringify({ DDBStreamBatchInfo: { ...batch, batchSize: 2 } });
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
  const target = { endpoint: local.awsEndpoint, region: local.region, credentials: CREDENTIALS };
  const reasons: unknown[] = [];
  const work = ({ Body = '' }: Message) => archiveAgain(target, parkedWork(Body));
  const redriven = await redrive(sqs, QueueUrl, work, (error) => reasons.push(error));
  expect({ redriven, reasons }).toEqual({ redriven: { done: 1, failed: 0 }, reasons: [] });
});
