import { describe, expect, test } from '@jest/globals';
import { type BucketFacts, type Fact, judgeBucket } from '../../lambdas/archive/domain/judge-bucket.ts';
import { NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { present } from '../lib/templates.ts';
import { synthesize } from '../support/synth.ts';
import { BucketServer, error } from './bucket-server.ts';

const BUCKET = 'archive-of-shop';

const read = <Value>(value: Value): Fact<Value> => ({ kind: 'read', value });

async function deployedPolicy(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { archive } = await synthesize({ 'payonce:archive': 'true' });
  const [policy] = Object.values(present(archive).findResources('AWS::S3::BucketPolicy')) as {
    readonly Properties: { readonly PolicyDocument: { readonly Statement: readonly object[] } };
  }[];
  const text = JSON.stringify(policy?.Properties.PolicyDocument.Statement)
    .replaceAll(/\{"Fn::GetAtt":\["Bucket[0-9A-F]+","Arn"\]\}/g, `"arn:aws:s3:::${BUCKET}"`)
    .replaceAll(/\{"Fn::Join":\["",\["(?<arn>[^"]+)","\/\*"\]\]\}/g, '"$<arn>/*"');
  return JSON.parse(text) as readonly Readonly<Record<string, unknown>>[];
}

const policy = await deployedPolicy();

async function findingsOf(change: (server: BucketServer) => void, lock?: Parameters<typeof judgeBucket>[2]) {
  const server = new BucketServer(BUCKET, policy);
  change(server);
  return judgeBucket(BUCKET, await server.facts(), lock);
}

describe('the check of the archive bucket', () => {
  test('passes with the protections of the stack', async () => {
    expect(await findingsOf(() => undefined)).toEqual([]);
    expect(await findingsOf(() => undefined, { mode: 'governance', days: 7 * 365 })).toEqual([]);
  });

  test('does not judge the bucket policy if another account owns the bucket, because S3 lets only that account read it', async () => {
    const elsewhere = (server: BucketServer) => server.refuse('policy', error(405, 'MethodNotAllowed'));
    expect(await findingsOf(elsewhere)).toEqual([]);
    expect(await findingsOf(elsewhere, { mode: 'compliance', days: 7 * 365 })).toMatchObject([{ what: 'lock' }]);
  });

  test('reports a lock that differs from the required lock', async () => {
    expect(await findingsOf(() => undefined, { mode: 'compliance', days: 8 * 365 })).toMatchObject([
      { what: 'lock', because: 'the mode is governance, but compliance is required' },
      { what: 'lock', because: 'objects are locked for 2555 days instead of 2920' },
    ]);
  });

  test.each([
    ['WrittenOnce', ['no statement denies s3:PutObject without If-None-Match to every principal']],
    [
      'NeverRemoved',
      ['s3:DeleteObject', 's3:DeleteObjectVersion', 's3:BypassGovernanceRetention'].map(
        (action) => `no statement denies ${action} to every principal`,
      ),
    ],
  ])('reports a policy without its statement %s, or with a loophole in this statement', async (sid, because) => {
    const reasonsIn = (found: readonly { readonly because: string }[]) => found.map((each) => each.because);
    const others = policy.filter(({ Sid }) => Sid !== sid);
    const [statement = {}] = policy.filter(({ Sid }) => Sid === sid);
    const loopholes = [
      undefined,
      { ...statement, Effect: 'Allow', Principal: { AWS: 'arn:aws:iam::111122223333:root' } },
      { ...statement, Principal: { AWS: 'arn:aws:iam::111122223333:root' } },
      { ...statement, Resource: `arn:aws:s3:::${BUCKET}/other/*` },
      { ...statement, Condition: { StringNotEquals: { 'aws:PrincipalAccount': '111122223333' } } },
    ];
    for (const loophole of loopholes) {
      const changed = loophole === undefined ? others : [...others, loophole];
      expect(reasonsIn(await findingsOf((server) => void (server.policy = changed)))).toEqual(because);
    }
  });

  test('reports public read access and access without TLS', async () => {
    const open = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${BUCKET}/*` };
    const withTls = policy.filter(({ Condition }) => !JSON.stringify(Condition ?? '').includes('SecureTransport'));
    expect(await findingsOf((server) => void (server.policy = [...withTls, open]))).toMatchObject([
      { what: 'policy', because: 'no statement denies requests without TLS' },
      { what: 'policy', because: 'a statement allows s3:GetObject to every principal' },
    ]);
  });

  test.each<[string, (server: BucketServer) => void, object]>([
    ['suspended versioning', (server) => server.set('versioning', 'Suspended'), { what: 'versions' }],
    ['a missing lock', (server) => server.set('object-lock', undefined), { because: 'new objects are not locked' }],
    [
      'missing blocks of public access',
      (server) => server.set('publicAccessBlock', undefined),
      { what: 'public_access' },
    ],
    [
      'a policy that cannot be read',
      (server) => server.refuse('policy'),
      { because: 'it cannot be read: AccessDenied' },
    ],
    [
      'a lifecycle rule that removes objects',
      (server) => server.set('lifecycle', 'Expiration'),
      { what: 'lifecycle', because: 'the lifecycle rule Clean removes objects' },
    ],
  ])('reports %s', async (_what, change, finding) => {
    expect(await findingsOf(change)).toMatchObject([finding]);
  });
});

test('the bucket check reports a key with several versions or a delete marker, on any page', async () => {
  const server = new BucketServer(BUCKET, policy);
  server.versions = [
    ['ledger/2026/11/23/14/1-aa.ndjson', false],
    ['ledger/2026/11/23/14/2-bb.ndjson', false],
    ['ledger/2026/11/23/14/2-bb.ndjson', false],
    ['ledger/2026/11/23/14/3-cc.ndjson', true],
    ['ledger/2026/11/23/14/3-cc.ndjson', false],
    ['ledger/2026/11/23/14/4-dd.ndjson', false],
    ['manifests/00000001.json', false],
    ['manifests/00000001.json', false],
    ['manifests/00000001.json', false],
  ];
  const wanted = [
    { kind: 'object_versions', object: 'ledger/2026/11/23/14/2-bb.ndjson', versions: 2, isRemoved: false },
    { kind: 'object_versions', object: 'ledger/2026/11/23/14/3-cc.ndjson', versions: 1, isRemoved: true },
    { kind: 'object_versions', object: 'manifests/00000001.json', versions: 3, isRemoved: false },
  ];
  const bounds = { fromMs: Date.UTC(2026, 10, 23), untilMs: Date.UTC(2026, 10, 24) };
  for (const page of [1, 2, 3, 100])
    for (const time of [NO_BOUNDS, bounds]) expect(await server.doubled(page, time)).toEqual(wanted);
});

test('the bucket check reports a setting that cannot be read', () => {
  const facts: BucketFacts = {
    keepsVersions: read(true),
    lock: { kind: 'refused', because: 'AccessDenied' },
    policy: read([]),
    isPrivate: read(true),
    removingRules: read([]),
  };
  expect(judgeBucket(BUCKET, facts)[0]).toEqual({
    kind: 'bucket',
    what: 'lock',
    because: 'it cannot be read: AccessDenied',
  });
});
