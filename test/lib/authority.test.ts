import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import {
  AUTHORITY_FUNCTIONS,
  databasesOf,
  IMPORT_WAITS_MS,
  type PostgresSettings,
  REPLAY_CACHE_FUNCTIONS,
  STATE_VALID_MS,
} from '../../lambdas/authority/contract.ts';
import { CLOCK_OFFSET } from '../../lambdas/kernel/platform/platform.ts';
import { DsqlCluster } from '../../lib/constructs/dsql-cluster.ts';
import { readSettings, recordedSettings } from '../../lib/settings.ts';
import { synthesize } from '../support/synth.ts';
import { differences } from './template-differences.ts';
import { EVERYTHING, present, statementsByOwner } from './templates.ts';
import { testApp } from './test-app.ts';

const settingsOf = (context: Record<string, unknown>) => readSettings(testApp(context).node);

const SECRET = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:payonce-AbCdEf';
const POSTGRES = { 'payonce:authority': 'postgres', 'payonce:postgresSecretArn': SECRET };
const DSQL = { 'payonce:authority': 'dsql' };
const LINKED = 'arn:aws:dsql:us-east-2:111122223333:cluster/abcdefghijklmnopqrstuvwxyz';
const NETWORK = {
  'payonce:postgresSubnets': '["subnet-0123456789abcdef0","subnet-0123456789abcdef1"]',
  'payonce:postgresSecurityGroups': ['sg-0123456789abcdef0'],
};

const KEY = 'arn:aws:kms:eu-west-1:111122223333:key/0a1b';
const ADDRESS = {
  'payonce:postgresHost': 'db.example',
  'payonce:postgresCaFile': '/opt/ca.pem',
  'payonce:postgresSecretKeyArn': KEY,
};

/** All differences between the templates without and with PostgreSQL. */
const ADDED = [
  '+ service .Outputs.ReplayCacheTableName',
  '+ service AWS::CloudWatch::Alarm',
  '+ service AWS::CloudWatch::Dashboard.Properties.DashboardBody.Fn::Join[]',
  '+ service AWS::DynamoDB::Table',
  '+ service AWS::IAM::ManagedPolicy',
  '+ service AWS::IAM::ManagedPolicy.Properties.PolicyDocument.Statement[CopyDetails]',
  '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[AttachToVpc]',
  '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[CacheReplays]',
  '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[CarriedUntil]',
  '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[CheckPredecessors]',
  '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[CopyDetails]',
  '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[DecryptDatabaseSecret]',
  '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[FindDatabase]',
  '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[ReadDatabaseSecret]',
  '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[RecordDatabases]',
  '+ service AWS::Lambda::Function.DependsOn[]',
  '+ service AWS::Lambda::Function.Properties.Environment.Variables.AUTHORITY',
  '+ service AWS::Lambda::Function.Properties.Environment.Variables.POSTGRES_AUTHORITY',
  '+ service AWS::Lambda::Function.Properties.Environment.Variables.REPLAY_CACHE_TABLE',
  '+ service AWS::Lambda::Function.Properties.VpcConfig',
  '+ service AWS::Scheduler::Schedule',
  '- service AWS::CloudWatch::Dashboard.Properties.DashboardBody.Fn::Join[]',
  '~ service AWS::Lambda::Function.Properties.Environment.Variables.DEPLOYMENT_SETTINGS',
];

/**
 * Properties that only the stacks with PostgreSQL have. `npm test` does not deploy these stacks, so the comment of each
 * property says why the local AWS accepts it.
 */
const NOT_DEPLOYED = [
  // emulator.stores.test.ts creates an alarm with this property.
  'AWS::CloudWatch::Alarm Metrics',
  // The emulator ignores this property.
  'AWS::Lambda::Function VpcConfig',
];

describe('the authority', () => {
  test('is parsed with the address and the network of the database', () => {
    const given = { ...POSTGRES, ...NETWORK, 'payonce:postgresHost': 'db.example', 'payonce:postgresPort': '6432' };
    expect(settingsOf(given)).toMatchObject({
      authority: 'postgres',
      postgresSecretArn: SECRET,
      postgresHost: 'db.example',
      postgresPort: 6432,
      postgresSubnets: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
      postgresSecurityGroups: ['sg-0123456789abcdef0'],
    });
  });

  test.each<[Record<string, unknown>, string]>([
    [{ 'payonce:authority': 'mysql' }, 'payonce:authority is "mysql", but must be dynamodb, postgres or dsql'],
    [
      { 'payonce:authority': 'postgres' },
      'payonce:authority is postgres, so payonce:postgresSecretArn must be the ARN of a secret',
    ],
    [
      { 'payonce:postgresHost': 'db.example' },
      'payonce:postgresHost is set, but payonce:authority is not postgres: set it to postgres',
    ],
    [
      { 'payonce:authority': 'dsql', 'payonce:postgresShards': '[{"name":"b","database":"payonce_b"}]' },
      'payonce:postgresShards is set, but payonce:authority is dsql, which has no such setting: remove it',
    ],
    [{ ...DSQL, 'payonce:dsqlWitnessRegion': 'west' }, 'must be a region, for example us-west-2'],
    [{ ...DSQL, 'payonce:dsqlLinkedClusterArn': 'abc123' }, 'must be the ARN of a cluster of Aurora DSQL'],
    [
      { ...DSQL, 'payonce:dsqlLinkedClusterArn': LINKED },
      'payonce:dsqlLinkedClusterArn is set, so payonce:dsqlWitnessRegion must be set, too',
    ],
    [
      { ...POSTGRES, 'payonce:dsqlWitnessRegion': 'us-west-2' },
      'payonce:dsqlWitnessRegion is set, but payonce:authority is not dsql: set it to dsql',
    ],
    [{ ...POSTGRES, 'payonce:postgresSecretArn': 'payonce' }, 'must be the ARN of a secret of Secrets Manager'],
    [{ ...POSTGRES, 'payonce:postgresHost': 'https://db' }, 'must be a host name or an IP address'],
    [{ ...POSTGRES, 'payonce:postgresCaFile': 'ca.pem' }, 'must be an absolute path'],
    [{ ...POSTGRES, 'payonce:postgresPort': 0 }, 'must be a whole number from 1 to 65535'],
    [
      { ...POSTGRES, ...NETWORK, 'payonce:postgresSubnets': '["vpc-0123456789abcdef0"]' },
      'must be a JSON list of 1 to 16 distinct ids of the form subnet-…',
    ],
    [{ ...POSTGRES, ...NETWORK, 'payonce:postgresSecurityGroups': [] }, 'distinct ids of the form sg-…'],
    [
      { ...POSTGRES, 'payonce:postgresSubnets': NETWORK['payonce:postgresSubnets'] },
      'payonce:postgresSubnets and payonce:postgresSecurityGroups must be given together or not at all',
    ],
  ])('rejects %j with the reason', (context, message) => {
    expect(() => settingsOf(context)).toThrow(message);
  });

  const shards = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `s${index}`, database: `payonce_${index}` }));

  test('may have up to 63 further databases, whose settings are recorded in full', () => {
    const given = { ...POSTGRES, 'payonce:postgresShards': JSON.stringify(shards(63)) };
    expect(settingsOf(given)).toMatchObject({ postgresShards: shards(63) });
    expect(recordedSettings(settingsOf(given))['postgresShards']).toBe(JSON.stringify(shards(63)));
  });

  test('accepts numbers as text in the settings of further databases', () => {
    const given = [{ name: 's', count: '2', port: '6432', host: 'shard-#.example' }];
    expect(settingsOf({ ...POSTGRES, 'payonce:postgresShards': given }).postgresShards).toEqual([
      { name: 's', count: 2, port: 6432, host: 'shard-#.example' },
    ]);
  });

  test.each<[unknown, string]>([
    [[], 'must be a JSON list of 1 to 63 databases'],
    [shards(64), 'must be a JSON list of 1 to 63 databases'],
    ['payonce_b', 'must be a JSON list of 1 to 63 databases'],
    [[...shards(1), ...shards(1)], 'different names'],
    [[{ name: 'first', database: 'b' }], 'except first'],
    [[{ name: 'B', database: 'b' }], 'names of a-z, 0-9 and -'],
    [[{ name: 's', count: 64, database: 'payonce_#' }], 'must be a JSON list of 1 to 63 databases'],
    [[{ name: 's', count: 2, database: 'payonce' }], 'the database of s2 more than once'],
    [[...shards(2), { name: 's', count: 2, database: 'other_#' }], 'different names'],
    [[{ name: 'b', host: 'shard-#.example' }], 'each with secretId, host, port or database'],
    [[{ name: 'b' }], 'each with secretId, host, port or database'],
    [[{ name: 'b', secretId: 'payonce' }], 'each with secretId, host, port or database'],
    [[{ name: 'b', databases: 'b' }], 'each with secretId, host, port or database'],
    [
      [...shards(2), { name: 'b', database: 'payonce_1' }],
      'payonce:postgresShards has the database of b more than once: each must differ',
    ],
    [[{ name: 'b', secretId: SECRET }], 'the database of b more than once'],
  ])('refuses the databases %j and says why', (postgresShards, message) => {
    expect(() => settingsOf({ ...POSTGRES, 'payonce:postgresShards': postgresShards })).toThrow(message);
  });

  test('is recorded with the values that the command line needs; a long list is recorded as a digest that differs for another list', () => {
    const postgresSecretArn = `${SECRET}${'x'.repeat(200)}`;
    const recordedWith = (last: string) => {
      const ids = Array.from({ length: 16 }, (_, index) => `subnet-0123456789abcde${index.toString(16)}${last}`);
      const network = { ...NETWORK, 'payonce:postgresSubnets': ids };
      return recordedSettings(settingsOf({ ...POSTGRES, ...network, 'payonce:postgresSecretArn': postgresSecretArn }));
    };
    const [one, other] = [recordedWith('0'), recordedWith('1')];
    expect(one).toMatchObject({ authority: 'postgres', postgresSecretArn });
    expect(Object.keys(one).filter((name) => one[name] !== other[name])).toEqual(['postgresSubnets']);
  });

  test('is configured for exactly the functions that call configuredAuthority', () => {
    const asking = globSync('lambdas/functions/*.ts').filter((file) =>
      readFileSync(file, 'utf8').includes('configuredAuthority('),
    );
    expect(asking.map((file) => basename(file, '.ts')).toSorted()).toEqual(AUTHORITY_FUNCTIONS);
  });
});

describe('the functions of a deployment', () => {
  interface Made {
    readonly Properties: {
      readonly Timeout: number;
      readonly Environment: { readonly Variables: Readonly<Record<string, unknown>> };
      readonly VpcConfig?: unknown;
    };
  }
  const functionsOf = async (context: Record<string, unknown>) => {
    const { service } = await synthesize({ ...EVERYTHING, ...context });
    return Object.values(service?.findResources('AWS::Lambda::Function') as Record<string, Made>);
  };

  test('get the settings of PostgreSQL and the given network only if they read or write the authority', async () => {
    const made = await functionsOf({ ...POSTGRES, ...NETWORK, ...ADDRESS });

    const using = made.filter(({ Properties }) => 'POSTGRES_AUTHORITY' in Properties.Environment.Variables);
    expect(using).toHaveLength(AUTHORITY_FUNCTIONS.length);
    for (const { Properties } of using) {
      expect(Properties.Environment.Variables['POSTGRES_AUTHORITY']).toBe(
        JSON.stringify({ secretId: SECRET, host: 'db.example', caFile: '/opt/ca.pem' }),
      );
      expect(Properties.VpcConfig).toEqual({
        SubnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
        SecurityGroupIds: ['sg-0123456789abcdef0'],
      });
    }
    expect(made.filter(({ Properties }) => Properties.VpcConfig !== undefined)).toHaveLength(using.length);
  });

  test('may read the secret of every database and, if there are several, which database stores a tenant', async () => {
    const other = `${SECRET}2`;
    const postgresShards = [
      { name: 'b', database: 'payonce_b' },
      { name: 'c', secretId: other, host: 'c.example' },
    ];
    const statementsOf = async (context: Record<string, unknown>) => {
      const { service } = await synthesize({ ...EVERYTHING, ...POSTGRES, ...ADDRESS, ...context });
      return [...statementsByOwner(present(service)).values()].flat();
    };
    const statements = await statementsOf({ 'payonce:postgresShards': postgresShards });
    const allowed = (sid: string) => statements.filter(({ Sid }) => Sid === sid);
    expect(allowed('ReadDatabaseSecret')).toHaveLength(AUTHORITY_FUNCTIONS.length);
    for (const { Resource } of allowed('ReadDatabaseSecret')) expect(Resource).toEqual([SECRET, other]);
    expect(allowed('DecryptDatabaseSecret')).toHaveLength(AUTHORITY_FUNCTIONS.length);
    for (const statement of allowed('DecryptDatabaseSecret'))
      expect(statement).toMatchObject({
        Condition: { StringEquals: { 'kms:EncryptionContext:SecretARN': [SECRET, other] } },
      });
    const rowsOfFindDatabase = (leadingKeys: readonly string[]) =>
      Array.from(AUTHORITY_FUNCTIONS, () => ({
        Action: 'dynamodb:GetItem',
        Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': leadingKeys } },
      }));
    expect(allowed('FindDatabase')).toMatchObject(rowsOfFindDatabase(['DATABASES', 'TENANTS']));
    const [recording, ...others] = allowed('RecordDatabases');
    expect([recording?.Condition, others]).toEqual([
      { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['DATABASES'] } },
      [],
    ]);

    const made = await functionsOf({ ...POSTGRES, ...ADDRESS, 'payonce:postgresShards': postgresShards });
    const using = made.filter(({ Properties }) => 'POSTGRES_AUTHORITY' in Properties.Environment.Variables);
    for (const { Properties } of using)
      expect(Properties.Environment.Variables['POSTGRES_AUTHORITY']).toBe(
        JSON.stringify({ secretId: SECRET, host: 'db.example', caFile: '/opt/ca.pem', shards: postgresShards }),
      );

    const ofOne = await statementsOf(NETWORK);
    expect(ofOne.filter(({ Sid }) => Sid === 'FindDatabase')).toMatchObject(rowsOfFindDatabase(['DATABASES']));
    expect(ofOne.find(({ Sid }) => Sid === 'ReadDatabaseSecret')?.Resource).toBe(SECRET);
  });

  test('get the settings of up to 64 databases', async () => {
    const postgresShards = [{ name: 's', count: 63, host: 'shard-#.example', database: 'payonce_#' }];
    const made = await functionsOf({ ...POSTGRES, ...ADDRESS, 'payonce:postgresShards': postgresShards });
    const text = made.map(({ Properties }) => Properties.Environment.Variables['POSTGRES_AUTHORITY']).find(Boolean);
    const databases = databasesOf(JSON.parse(String(text)) as PostgresSettings);
    expect(databases).toHaveLength(64);
    expect(databases[0]).toMatchObject({ name: 'first', settings: { host: 'db.example' } });
    expect(databases[63]).toEqual({
      name: 's63',
      settings: { secretId: SECRET, host: 'shard-63.example', database: 'payonce_63', caFile: '/opt/ca.pem' },
    });
  });

  test('time out before an import starts to copy, and may read whether an import has begun', async () => {
    const made = await functionsOf(POSTGRES);
    const using = made.filter(({ Properties }) => 'POSTGRES_AUTHORITY' in Properties.Environment.Variables);
    const longest = Math.max(...using.map(({ Properties }) => Properties.Timeout));
    expect(longest * 1000).toBe(IMPORT_WAITS_MS - STATE_VALID_MS);
    const { service } = await synthesize(EVERYTHING);
    const allowed = [...statementsByOwner(present(service)).values()].filter((statements) =>
      statements.some(({ Sid }) => Sid === 'SettingsAndImports'),
    );
    expect(allowed).toHaveLength(AUTHORITY_FUNCTIONS.length);
  });

  test('may decrypt the secret with the configured key, and nothing else', async () => {
    const statementsWith = async (context: Record<string, unknown>) => {
      const { service } = await synthesize({ ...EVERYTHING, ...POSTGRES, ...context });
      return [...statementsByOwner(present(service)).values()]
        .flat()
        .filter(({ Sid }) => Sid === 'DecryptDatabaseSecret');
    };
    const statements = await statementsWith({ ...NETWORK, ...ADDRESS });
    expect(statements).toHaveLength(AUTHORITY_FUNCTIONS.length);
    for (const statement of statements) {
      expect(statement).toMatchObject({
        Action: 'kms:Decrypt',
        Resource: KEY,
        Condition: { StringEquals: { 'kms:EncryptionContext:SecretARN': SECRET } },
      });
    }
    expect(await statementsWith({})).toEqual([]);
  });

  test('are in no VPC if no subnets are set', async () => {
    const made = await functionsOf(POSTGRES);
    expect(made.filter(({ Properties }) => Properties.VpcConfig !== undefined)).toEqual([]);
  });

  test('use a replay cache with alarms if they respond to requests with an idempotency key', async () => {
    const { service } = await synthesize({ ...EVERYTHING, ...POSTGRES });
    const template = present(service);
    const made = template.findResources('AWS::Lambda::Function') as Record<string, Made>;
    const using = Object.values(made).filter(
      ({ Properties }) => 'REPLAY_CACHE_TABLE' in Properties.Environment.Variables,
    );
    expect(using).toHaveLength(REPLAY_CACHE_FUNCTIONS.length);
    const [table = ''] = Object.keys(template.findResources('AWS::DynamoDB::Table'));
    template.hasResource('AWS::DynamoDB::Table', {
      DeletionPolicy: 'Delete',
      Properties: { TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true } },
    });
    const allowed = [...statementsByOwner(template).values()]
      .flat()
      .filter((statement) => JSON.stringify(statement).includes(`"${table}"`));
    expect(allowed).toHaveLength(REPLAY_CACHE_FUNCTIONS.length);
    for (const { Action } of allowed) expect(Action).toEqual(['dynamodb:GetItem', 'dynamodb:PutItem']);
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'replay_cache_failed_writes',
      Threshold: 1,
    });
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      Threshold: 20,
      Metrics: Match.arrayWith([
        Match.objectLike({ Expression: 'IF(hits + missed >= 50, 100 * missed / (hits + missed), 0)' }),
      ]),
    });
  });

  test('and all other resources differ with PostgreSQL only in the listed places', async () => {
    const [without, withSetting] = await Promise.all([
      synthesize(EVERYTHING),
      synthesize({ ...EVERYTHING, ...POSTGRES, ...NETWORK, ...ADDRESS }),
    ]);
    expect(differences(without, withSetting)).toEqual(ADDED);
    const known = new Set(propertiesOf(without));
    expect(propertiesOf(withSetting).filter((property) => !known.has(property))).toEqual(NOT_DEPLOYED);
    expect(JSON.stringify(Object.values(without))).not.toMatch(/postgres|authority|VpcConfig/i);
  });

  test('connect to an Aurora DSQL cluster with deletion protection, without a secret and without a VPC', async () => {
    const [without, withSetting] = await Promise.all([synthesize(EVERYTHING), synthesize({ ...EVERYTHING, ...DSQL })]);
    const ofData = differences(without, withSetting).filter((line) => line.includes(' data '));
    expect(ofData.map((line) => line.replace(/[0-9A-F]{8}(?=[A-Z]|$)/g, '#'))).toEqual([
      '+ data .Outputs.PublishOutputFnGetAttClusterEndpoint#',
      '+ data .Outputs.PublishOutputFnGetAttClusterResourceArn#',
      '+ data AWS::DSQL::Cluster',
    ]);
    // With a PostgreSQL server, some inline policies grow, and the CDK moves one statement into a managed policy. With
    // Aurora DSQL, that statement still fits into its inline policy.
    const ofServer = /VpcConfig|AttachToVpc|DatabaseSecret|ManagedPolicy\./;
    const connect = '+ service AWS::IAM::Policy.Properties.PolicyDocument.Statement[ConnectToDatabase]';
    expect(differences(without, withSetting).filter((line) => line.includes(' service '))).toEqual(
      [...ADDED.filter((line) => !ofServer.test(line)), connect].toSorted(),
    );
    present(withSetting.data).hasResource('AWS::DSQL::Cluster', {
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
      Properties: { DeletionProtectionEnabled: true, Tags: [{ Key: 'Name', Value: 'PayonceData' }] },
    });

    const output = (name: string) => ({
      'Fn::GetStackOutput': Match.objectLike({
        StackName: 'PayonceData',
        OutputName: Match.stringLikeRegexp(`^PublishOutputFnGetAttCluster${name}`),
      }),
    });
    const template = present(withSetting.service);
    const statements = [...statementsByOwner(template).values()].flat();
    const connecting = statements.filter(({ Action }) => JSON.stringify(Action).includes('dsql:'));
    expect(connecting).toHaveLength(AUTHORITY_FUNCTIONS.length);
    template.resourcePropertiesCountIs(
      'AWS::Lambda::Function',
      {
        Environment: {
          Variables: { POSTGRES_AUTHORITY: { 'Fn::Join': ['', ['{"host":"', output('Endpoint'), '"}']] } },
        },
      },
      AUTHORITY_FUNCTIONS.length,
    );
    for (const { Action, Resource } of connecting) {
      expect(Action).toBe('dsql:DbConnect');
      expect(JSON.stringify(Resource)).toMatch(/^\{"Fn::GetStackOutput":.*PublishOutputFnGetAttClusterResourceArn/);
    }
  });

  test.each([
    [{}, Match.absent()],
    [{ dsqlWitnessRegion: 'us-west-2' }, { WitnessRegion: 'us-west-2' }],
    [
      { dsqlWitnessRegion: 'us-west-2', dsqlLinkedClusterArn: LINKED },
      { WitnessRegion: 'us-west-2', Clusters: [LINKED] },
    ],
  ])('have an Aurora DSQL cluster in the regions of the settings: %j', (settings, MultiRegionProperties) => {
    const cluster = new DsqlCluster(new Stack(testApp()), 'Cluster', { retain: true, settings });
    Template.fromStack(Stack.of(cluster)).hasResourceProperties('AWS::DSQL::Cluster', { MultiRegionProperties });
  });

  test('never get the setting for a clock offset, in any template', async () => {
    for (const context of [{}, EVERYTHING, { ...EVERYTHING, ...POSTGRES, ...NETWORK, ...ADDRESS }])
      expect(JSON.stringify(Object.values(await synthesize(context)))).not.toContain(CLOCK_OFFSET);
  });
});

function propertiesOf(stacks: Awaited<ReturnType<typeof synthesize>>): readonly string[] {
  const found = Object.values(stacks).flatMap((template) => {
    const { Resources = {} } = (template?.toJSON() ?? {}) as {
      readonly Resources?: Readonly<Record<string, { readonly Type: string; readonly Properties?: object }>>;
    };
    return Object.values(Resources).flatMap(({ Type, Properties = {} }) =>
      Object.keys(Properties).map((name) => `${Type} ${name}`),
    );
  });
  return [...new Set(found)].toSorted();
}
