/** Tests the guarantee "complete archive". */
import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import { readSettings } from '../../lib/settings.ts';
import { synthesize } from '../support/synth.ts';
import { present, type Statement, statementsByOwner } from './templates.ts';
import { testApp } from './test-app.ts';

const archived = await synthesize({ 'payonce:archive': 'true' });
const away = await synthesize({ 'payonce:archive': 'true', 'payonce:archiveBucket': 'payonce-archive-of-shop' });
const logging = await synthesize({
  'payonce:archiveWriter': '111122223333',
  'payonce:archiveMode': 'compliance',
  'payonce:archiveYears': '10',
  'payonce:archiveColdAfterDays': '90',
  'payonce:archiveKeyArn': 'arn:aws:kms:eu-central-1:444455556666:key/0a1b',
});

function policyOf(template: typeof archived.archive): readonly (Statement & { readonly Principal: unknown })[] {
  const [policy] = Object.values(present(template).findResources('AWS::S3::BucketPolicy')) as {
    Properties: { PolicyDocument: { Statement: readonly (Statement & { readonly Principal: unknown })[] } };
  }[];
  return policy?.Properties.PolicyDocument.Statement ?? [];
}

const SIGNING_KEY = 'arn:aws:kms:eu-central-1:444455556666:key/51c4';
const signed = await synthesize({
  'payonce:archive': 'true',
  'payonce:archiveYears': '0',
  'payonce:archiveSigningKeyArn': SIGNING_KEY,
});

describe('the archive bucket', () => {
  test('versions and locks every object, and is retained when its stack is deleted', () => {
    present(archived.archive).hasResource('AWS::S3::Bucket', {
      DeletionPolicy: Match.stringLikeRegexp('^Retain'),
      Properties: {
        VersioningConfiguration: { Status: 'Enabled' },
        ObjectLockEnabled: true,
        ObjectLockConfiguration: { Rule: { DefaultRetention: { Mode: 'GOVERNANCE', Days: 7 * 365 } } },
        OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
        PublicAccessBlockConfiguration: {
          BlockPublicAcls: true,
          BlockPublicPolicy: true,
          IgnorePublicAcls: true,
          RestrictPublicBuckets: true,
        },
      },
    });
  });

  test('locks an object for one day in a trial', () => {
    present(signed.archive).hasResourceProperties('AWS::S3::Bucket', {
      ObjectLockConfiguration: { Rule: { DefaultRetention: { Mode: 'GOVERNANCE', Days: 1 } } },
    });
  });

  test('denies every principal overwrites, removals, unlocking and plain HTTP', () => {
    const denied = policyOf(archived.archive).filter(
      ({ Effect, Principal }) => Effect === 'Deny' && JSON.stringify(Principal) === '{"AWS":"*"}',
    );
    const of = (sid: string) => denied.find(({ Sid }) => Sid === sid);
    expect(of('WrittenOnce')).toMatchObject({
      Action: 's3:PutObject',
      Condition: { Null: { 's3:if-none-match': 'true' } },
    });
    expect(of('NeverRemoved')?.Action).toEqual([
      's3:BypassGovernanceRetention',
      's3:DeleteObject',
      's3:DeleteObjectVersion',
    ]);
    expect(of('NeverRemoved')?.Condition).toBeUndefined();
    expect(JSON.stringify(denied)).toContain('"aws:SecureTransport":"false"');
  });

  test('uses compliance mode, a key and colder storage classes in a logging account, and trusts one account', () => {
    expect(logging.service).toBeUndefined();
    expect(logging.data).toBeUndefined();
    present(logging.archive).hasResourceProperties('AWS::S3::Bucket', {
      ObjectLockConfiguration: { Rule: { DefaultRetention: { Mode: 'COMPLIANCE', Days: 3_650 } } },
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          {
            BucketKeyEnabled: true,
            ServerSideEncryptionByDefault: {
              SSEAlgorithm: 'aws:kms',
              KMSMasterKeyID: 'arn:aws:kms:eu-central-1:444455556666:key/0a1b',
            },
          },
        ],
      },
      LifecycleConfiguration: {
        Rules: [{ Id: 'Cold', Status: 'Enabled', Transitions: [{ StorageClass: 'GLACIER_IR', TransitionInDays: 90 }] }],
      },
    });
    const write = policyOf(logging.archive).find(({ Sid }) => Sid === 'Write');
    expect(write?.Action).toBe('s3:PutObject');
    expect(JSON.stringify(write?.Principal)).toContain('111122223333');
    expect(write?.Condition).toEqual({
      ArnLike: { 'aws:PrincipalArn': 'arn:*:iam::111122223333:role/*PayonceService-*' },
    });
  });
});

/** Matches actions that remove a version, bypass its lock, or change how the bucket is protected. */
const REMOVING = /^s3:(\*|Delete|Bypass|PutObjectRetention|PutObjectLegalHold|PutBucket|PutLifecycle|Put\*|.*Replicat)/;

test.each([
  ['in this account', archived],
  ['in another account', away],
])(
  'no role of any stack may remove a version, lift its lock, or change the protection of an archive bucket %s',
  (_where, { data, service, sandbox, archive }) => {
    const stacks = [data, service, sandbox, archive].flatMap((stack) => (stack === undefined ? [] : [present(stack)]));
    const allowed = stacks.flatMap((template) =>
      [...statementsByOwner(template)].flatMap(([owner, statements]) =>
        statements.flatMap(({ Effect, Action }) =>
          Effect === 'Allow' ? [Action].flat().map((action) => ({ owner, action })) : [],
        ),
      ),
    );
    expect(allowed.length).toBeGreaterThan(0);
    expect(allowed.filter(({ action }) => action === '*' || REMOVING.test(action))).toEqual([]);
    // A managed policy could also grant these actions.
    for (const template of stacks)
      expect(JSON.stringify(template.findResources('AWS::IAM::Role'))).not.toMatch(
        /:aws:policy\/(AmazonS3FullAccess|AdministratorAccess|PowerUserAccess)/,
      );
  },
);

describe('the archiver', () => {
  test('reads every record of the Stream, bisects a failed batch, and retries a record until it is 20 hours old', () => {
    const mappings = Object.values(present(archived.service).findResources('AWS::Lambda::EventSourceMapping')) as {
      readonly Properties: Readonly<Record<string, unknown>>;
    }[];
    const [mapping] = mappings.filter(({ Properties }) =>
      JSON.stringify(Properties['FunctionName']).includes('Archiver'),
    );
    expect(mapping?.Properties).toMatchObject({
      BisectBatchOnFunctionError: true,
      MaximumBatchingWindowInSeconds: 300,
      MaximumRecordAgeInSeconds: 20 * 3_600,
      MaximumRetryAttempts: -1,
      StartingPosition: 'TRIM_HORIZON',
      DestinationConfig: { OnFailure: { Destination: expect.anything() } },
    });
    expect(mapping?.Properties['FilterCriteria']).toBeUndefined();
    // DynamoDB recommends at most two readers per shard.
    const ofStream = mappings.filter(({ Properties }) => JSON.stringify(Properties).includes('StreamArn'));
    expect(ofStream).toHaveLength(2);
  });

  test.each([
    ['in this account', archived, ['s3:PutObject']],
    ['in another account', away, ['s3:PutObject']],
  ])('may write Ledger objects to a bucket %s, and has no other access to S3', (_where, { service }, allowed) => {
    const statements = statementsByOwner(present(service)).get('ArchiveArchiver') ?? [];
    const actions = statements.flatMap(({ Action }) => Action).filter((action) => action.startsWith('s3:'));
    expect(actions).toEqual(allowed);
    const writers = [...statementsByOwner(present(service))].flatMap(([owner, of]) =>
      of
        .filter(({ Action }) => [Action].flat().includes('s3:PutObject'))
        .map(({ Resource }) => [
          owner,
          JSON.stringify(Resource).match(/(ledger|manifests|verifications|exports)\/\*/g),
        ]),
    );
    expect(writers).toEqual([
      ['ArchiveArchiver', ['ledger/*']],
      ['ArchiveAuditorFunction', ['manifests/*', 'verifications/*']],
      ['ExportsWriter', ['exports/*']],
    ]);
  });

  test('does not exist without the setting; an archive in another account creates no bucket in this one', async () => {
    const { archive, service } = await synthesize();
    expect(archive).toBeUndefined();
    expect(JSON.stringify(present(service).toJSON())).not.toContain('ARCHIVE_BUCKET');
    expect(JSON.stringify(statementsByOwner(present(service)).get('AuditApi'))).not.toContain('s3:');
    expect(away.archive).toBeUndefined();
    expect(JSON.stringify(present(away.service).toJSON())).toContain('"ARCHIVE_BUCKET":"payonce-archive-of-shop"');
  });
});

describe('the auditor', () => {
  test('runs every hour; an alarm is raised if it has written no manifest for three hours', () => {
    const service = present(archived.service);
    service.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'cron(5 * * * ? *)',
      Target: Match.objectLike({ Arn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^ArchiveAuditor'), 'Arn'] } }),
    });
    service.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'archive_listed',
      Period: 3_600,
      EvaluationPeriods: 3,
      TreatMissingData: 'breaching',
      ComparisonOperator: 'LessThanThreshold',
    });
  });

  test('has an alarm for its findings, and one for an archiver that does not run despite traffic', () => {
    for (const MetricName of ['archive_differs', 'archive_stopped'])
      present(archived.service).hasResourceProperties('AWS::CloudWatch::Alarm', {
        MetricName,
        Threshold: 1,
        EvaluationPeriods: 1,
        AlarmDescription: Match.stringLikeRegexp('docs/operate/runbook/data.md#the-archive-'),
      });
  });

  test('has no permission to write except to put objects into the archive bucket', () => {
    const statements = statementsByOwner(present(archived.service)).get('ArchiveAuditorFunction') ?? [];
    const actions = statements.flatMap(({ Effect, Action }) => (Effect === 'Allow' ? [Action].flat() : []));
    const changing = actions.filter((action) => !/:(Get|List|Query|Describe)/.test(action));
    expect(new Set(changing.filter((action) => !/^(logs|xray):/.test(action)))).toEqual(new Set(['s3:PutObject']));
  });

  test('may use the configured key only to sign', () => {
    const service = present(signed.service);
    const statements = statementsByOwner(service).get('ArchiveAuditorFunction') ?? [];
    const keys = statements.filter(({ Action }) => JSON.stringify(Action).includes('kms:'));
    expect(keys).toMatchObject([{ Action: 'kms:Sign', Resource: SIGNING_KEY }]);
    expect(JSON.stringify(service.toJSON())).toContain(`"ARCHIVE_SIGNING_KEY":"${SIGNING_KEY}"`);
  });
});

test.each([
  ['in this account', archived],
  ['in another account', away],
])(
  'the function that shows the archive to operators may neither read archived lines nor write to the archive (archive: %s)',
  (_where, { service }) => {
    const statements = statementsByOwner(present(service)).get('AuditApi') ?? [];
    const ofArchive = statements.filter(({ Action }) => JSON.stringify(Action).includes('s3:'));
    const folders = ofArchive.map(({ Action, Resource }) => [Action, JSON.stringify(Resource).match(/[a-z]+\/\*/g)]);
    expect(folders).toEqual([
      ['s3:ListBucket', null],
      ['s3:GetObject', ['manifests/*', 'verifications/*']],
    ]);
  },
);

test.each([
  [{ archiveBucket: 'a-bucket' }, /archiveBucket is a-bucket, but payonce:archive is false/],
  [{ archive: 'true', archiveWriter: '111122223333' }, /archiveWriter is 111122223333, .* payonce:archive is true/],
  [{ archiveMode: 'none' }, /archiveMode is "none", but must be governance or compliance/],
  [{ archiveBatchSeconds: '301' }, /archiveBatchSeconds is "301", but must be a whole number from 0 to 300/],
  [{ archiveColdAfterDays: '5' }, /archiveColdAfterDays is "5"/],
  [{ archiveWriter: '1' }, /archiveWriter is "1", but must be the 12 digits of an AWS account/],
])('the settings %j are refused', (settings, message) => {
  const context = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`payonce:${name}`, value]));
  expect(() => readSettings(testApp(context).node)).toThrow(message);
});
