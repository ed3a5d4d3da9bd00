import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { endingOf } from '../../cli/failure.ts';
import { payonceProgram } from '../../cli/program.ts';
import { StoredManifests } from '../../lambdas/archive/store/stored-manifests.ts';
import { writeManifests } from '../../lambdas/archive/use/write-manifests.ts';
import { systemClock, systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { BucketServer, error as errorOfS3 } from '../archive/bucket-server.ts';
import { archiveOfRows, type MemoryArchive } from '../archive/memory-archive.ts';
import { type Fields, someLedger } from '../archive/verify-world.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';

/** The simulated account allows reads of this bucket, and refuses every other call. */

const BUCKET = 'archive-of-shop';
const directory = mkdtempSync(join(tmpdir(), 'payonce-verify-archive-'));
const { env } = process;
const objects = { Effect: 'Deny', Principal: '*', Resource: `arn:aws:s3:::${BUCKET}/*` };
const POLICY = [
  { ...objects, Action: ['s3:DeleteObject', 's3:DeleteObjectVersion', 's3:BypassGovernanceRetention'] },
  { ...objects, Action: 's3:PutObject', Condition: { Null: { 's3:if-none-match': 'true' } } },
  { ...objects, Action: 's3:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
];
const refused: string[] = [];
let rows: readonly Fields[];
let archive: MemoryArchive;
let isElsewhere = false;
let server: Server;
let url: string;

beforeAll(async () => {
  rows = await someLedger();
  server = createServer((request, response) => {
    void answer(request.method ?? '', new URL(request.url ?? '', 'http://s3')).then(([status, text]) =>
      response.writeHead(status).end(text),
    );
  });
  url = await listenOnLoopback(server);
});
afterAll(async () => {
  process.env = env;
  await stopListening(server);
  rmSync(directory, { recursive: true });
});

async function listed(of: MemoryArchive, signer?: KeyObject): Promise<MemoryArchive> {
  const manifests = new StoredManifests(of);
  const unsigned = { manifests, digest: systemDigest, clock: systemClock };
  if (signer === undefined) {
    await writeManifests(unsigned, systemClock.nowMs() + 60_000);
    return of;
  }
  // KMS signs a given hash, but Node's `sign` hashes the text itself, so the text is saved here.
  let text = '';
  const digest = { ...systemDigest, sha256: (hashed: string) => systemDigest.sha256((text = hashed)) };
  const signed = { ...unsigned, digest, sign: async () => sign('sha256', Buffer.from(text), signer) };
  await writeManifests(signed, systemClock.nowMs() + 60_000);
  return of;
}

async function answer(method: string, { pathname, searchParams }: URL): Promise<readonly [number, string]> {
  const bucketServer = new BucketServer(BUCKET, POLICY);
  if (isElsewhere) bucketServer.refuse('policy', errorOfS3(405, 'MethodNotAllowed'));
  const ofBucket = method === 'GET' ? bucketServer.answer(searchParams) : undefined;
  if (ofBucket !== undefined) return ofBucket;
  if (method === 'GET' && pathname.replace(/\/$/, '') === `/${BUCKET}`) {
    const names = await archive.names(
      searchParams.get('prefix') ?? '',
      searchParams.get('start-after') ?? '',
      Number(searchParams.get('max-keys')),
    );
    const contents = names.map((name) => `<Contents><Key>${name}</Key></Contents>`).join('');
    return [200, `<ListBucketResult>${contents}</ListBucketResult>`];
  }
  const text = method === 'GET' ? await archive.text(decodeURIComponent(pathname.slice(BUCKET.length + 2))) : undefined;
  if (text !== undefined) return [200, text];
  refused.push(`${method} ${pathname}`);
  return [403, '<Error><Code>AccessDenied</Code></Error>'];
}

async function verify(...more: readonly string[]) {
  process.env = {
    ...env,
    AWS_ENDPOINT_URL: url,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'AKIATEST',
    AWS_SECRET_ACCESS_KEY: 'secret',
  };
  const printed: string[] = [];
  const notes: string[] = [];
  const program = payonceProgram({
    print: (text) => printed.push(text),
    note: (text) => notes.push(text),
    isTerminal: false,
    freshKey: () => 'key',
  });
  const words = [
    'verify',
    '--archive-only',
    '--archive-bucket',
    BUCKET,
    '--json',
    '--state',
    join(directory, 'state'),
    ...more,
  ];
  const error: unknown = await program.parseAsync(['--directory', directory, ...words], { from: 'user' }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return {
    code: error === undefined ? 0 : endingOf(error).exitCode,
    sentence: error === undefined ? undefined : endingOf(error).sentence,
    document: JSON.parse(printed.join('')) as unknown,
    notes,
  };
}

test('an auditor who can only read the bucket verifies the archive, and finds a row that was not archived', async () => {
  archive = await listed(await archiveOfRows(rows, 3));
  const clean = await verify();
  expect({ ...clean, refused }).toMatchObject({
    code: 0,
    document: { lines: rows.length, manifests: 1, objects: archive.objects.size - 1, findings: [], further: 0 },
    refused: [],
  });

  const place = rows.findIndex(({ pk, sk }) => String(pk).startsWith('PAY#') && sk === 'T#000001');
  archive = await listed(await archiveOfRows(rows.toSpliced(place, 1), 3));
  expect(await verify()).toMatchObject({
    code: 1,
    document: { findings: [{ kind: 'chain_broken', chain: rows[place]?.['pk'], sequence: 1, what: 'missing' }] },
  });
});

test('the manifest reveals an object that was removed together with its rows', async () => {
  archive = await listed(await archiveOfRows(rows, 3));
  const [, removed] = [...archive.objects.keys()].filter((name) => name.startsWith('ledger/')).sort();
  archive.objects.delete(removed ?? '');
  const { code, document } = await verify();
  expect(code).toBe(1);
  expect((document as { readonly findings: readonly unknown[] }).findings).toContainEqual({
    kind: 'object_missing',
    object: removed,
    manifest: 'manifests/00000001.json',
  });
});

test('verification with a public key accepts manifests signed with its private key, and reports unsigned manifests', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const file = join(directory, 'key.pem');
  writeFileSync(file, publicKey.export({ type: 'spki', format: 'pem' }));
  archive = await listed(await archiveOfRows(rows, 3), privateKey);
  expect(await verify('--signed-by', file)).toMatchObject({ code: 0, document: { findings: [] } });
  archive = await listed(await archiveOfRows(rows, 3));
  expect(await verify('--signed-by', file)).toMatchObject({
    code: 1,
    document: { findings: [{ kind: 'manifest_broken', because: 'it has no signature' }] },
  });
  writeFileSync(file, 'no key');
  await expect(verify('--signed-by', file)).rejects.toThrow();
});

test('verification reports a bucket that does not have the required lock', async () => {
  archive = await listed(await archiveOfRows(rows, 3));
  expect(await verify('--lock', 'governance:7')).toMatchObject({ code: 0 });
  expect(await verify('--lock', 'compliance:7')).toMatchObject({
    code: 1,
    sentence: '1 violations were found: see the runbook, "The archive differs".',
    document: { findings: [{ kind: 'bucket', what: 'lock' }] },
  });
  await expect(verify('--lock', 'forever')).rejects.toThrow();
});

test('verification from an account other than the bucket’s reports that it did not check the bucket policy', async () => {
  archive = await listed(await archiveOfRows(rows, 3));
  expect(await verify()).toMatchObject({ code: 0, notes: [] });
  isElsewhere = true;
  expect(await verify()).toMatchObject({
    code: 0,
    document: { findings: [] },
    notes: ["The bucket's policy was not checked: only an identity of the bucket's account may read it."],
  });
  isElsewhere = false;
});

test('verification fails for a payment without rows, an empty archive and a reversed range, but not for a range without rows', async () => {
  archive = await listed(await archiveOfRows(rows, 3));
  const payment = `pay_${'a'.repeat(32)}`;
  expect(await verify('--payment', payment)).toMatchObject({
    code: 4,
    sentence: `Nothing was verified: no row of ${payment} was found.`,
    document: { chains: 0 },
  });
  expect(await verify('--from', '1577836800', '--to', '1577923200')).toMatchObject({
    code: 0,
    document: { chains: 0 },
  });
  archive = await archiveOfRows([], 3);
  expect(await verify()).toMatchObject({ code: 4, sentence: 'Nothing was verified: no row was found.' });
  // Wrong usage prints no document.
  await expect(verify('--from', '1772452800', '--to', '1772366400')).rejects.toThrow();
});
