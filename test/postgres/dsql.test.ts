import { describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import type { Runner } from '../../lambdas/postgres/database.ts';
import { DSQL_ADMIN, dsqlCredentials, dsqlServer, regionOfEndpoint } from '../../lambdas/postgres/dsql.ts';
import { DatabaseFault } from '../../lambdas/postgres/faults.ts';
import { MigrationRefused, migrateCluster } from '../../lambdas/postgres/migrate.ts';
import { parseMigration } from '../../lambdas/postgres/migrations.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const ENDPOINT = 'abc123.dsql.eu-west-1.on.aws';
const KEYS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'a+b/c==*()',
};

async function tokenOf(server: { readonly password: string | (() => Promise<string>) }): Promise<string> {
  return typeof server.password === 'string' ? server.password : server.password();
}

describe('a connection', () => {
  // Both signatures were created by DsqlSigner of @aws-sdk/dsql-signer.
  test.each([
    {
      user: undefined,
      action: 'DbConnect',
      signature: '7d540bf1f4479cb9f9644bd33d917fa2e32d1a2be887bfa16c4af56232e9a51f',
    },
    {
      user: DSQL_ADMIN,
      action: 'DbConnectAdmin',
      signature: 'b339848785c684d645fa88e864ad102773fbb2cca0485ea0cc7be854f76d04ad',
    },
  ] as const)('has the token that the AWS signer creates for $action', async ({ user, action, signature }) => {
    const access = { endpoint: ENDPOINT, keys: async () => KEYS, clock: new SimulatedClock() };
    const server = dsqlServer(user === undefined ? access : { ...access, user });
    expect(server).toMatchObject({ host: ENDPOINT, port: 5432, database: 'postgres', user: user ?? 'payonce' });
    expect(await tokenOf(server)).toBe(
      `${ENDPOINT}/?Action=${action}&X-Amz-Algorithm=AWS4-HMAC-SHA256` +
        '&X-Amz-Credential=AKIDEXAMPLE%2F20260301%2Feu-west-1%2Fdsql%2Faws4_request&X-Amz-Date=20260301T120000Z' +
        '&X-Amz-Expires=900&X-Amz-Security-Token=a%2Bb%2Fc%3D%3D%2A%28%29' +
        `&X-Amz-Signature=${signature}&X-Amz-SignedHeaders=host`,
    );
  });

  test('gets a new token for each login, signed with the current AWS keys', async () => {
    const clock = new SimulatedClock();
    let accessKeyId = 'FIRST';
    const credentials = dsqlCredentials({ endpoint: ENDPOINT, keys: async () => ({ ...KEYS, accessKeyId }), clock });
    const server = await credentials.current();
    expect(await tokenOf(server)).toContain('X-Amz-Credential=FIRST%2F20260301');
    clock.advance(24 * 3_600_000);
    accessKeyId = 'SECOND';
    expect(await tokenOf(server)).toContain('X-Amz-Credential=SECOND%2F20260302');
    expect(await credentials.renewed()).toBeUndefined();
  });

  test('has a token for the region of its cluster, and is refused for a host that is not a cluster', async () => {
    expect(regionOfEndpoint('x1.dsql.us-gov-west-1.on.aws')).toBe('us-gov-west-1');
    for (const host of [undefined, 'db.example', 'x.dsql.eu-west-1.on.aws.example', 'x/y.dsql.eu-west-1.on.aws'])
      expect(regionOfEndpoint(host)).toBeUndefined();
    const access = { endpoint: 'db.example', keys: async () => KEYS, clock: new SimulatedClock() };
    expect(() => dsqlServer(access)).toThrow('db.example is not the endpoint of an Aurora DSQL cluster');
  });
});

const MIGRATIONS = [
  parseMigration(
    '0001-first.sql',
    `CREATE TABLE IF NOT EXISTS work (id text CONSTRAINT work_pkey PRIMARY KEY, due_at timestamptz);
    CREATE INDEX IF NOT EXISTS work_due ON work (due_at) WHERE due_at IS NOT NULL;`,
  ),
];
const role = (name: string): string => `arn:aws:iam::111122223333:role/${name}`;

/** Executes nothing. The first attempt of each write fails, as if the schema had changed. */
class Cluster implements Runner {
  readonly statements: string[] = [];
  readonly roles: string[] = [];
  readonly #mapped: string[] = [];
  readonly #failed = new Set<string>();

  async run({ text, values }: Parameters<Runner['run']>[0]) {
    if (text.includes('pg_roles')) return this.roles.includes(String(values[0])) ? [{}] : [];
    if (text.startsWith('SELECT arn')) return this.#mapped.map((arn) => ({ arn }));
    if (text.startsWith('SELECT')) return [];
    if (!this.#failed.has(text)) {
      this.#failed.add(text);
      throw new RetryableError(DatabaseFault.conflict, 'schema has been updated by another transaction (OC001)');
    }
    this.statements.push(text.replaceAll(/\s+/g, ' '));
    const [, name] = /^CREATE ROLE (\w+)/.exec(text) ?? [];
    if (name !== undefined) this.roles.push(name);
    const [, arn] = /^AWS IAM GRANT payonce TO '(.+)'$/.exec(text) ?? [];
    if (arn !== undefined) this.#mapped.push(arn);
    return [];
  }
}

describe('a cluster', () => {
  const prepare = (database: Runner, ...iamRoles: readonly string[]) =>
    migrateCluster({ database, clock: new SimulatedClock(), migrations: MIGRATIONS, iamRoles });

  test('gets the functions’ role, tables, asynchronous indexes, privileges, and grants to IAM roles', async () => {
    const cluster = new Cluster();
    expect(await prepare(cluster, role('Payments'), role('Reads'))).toEqual(['0001']);
    expect(cluster.statements).toEqual([
      'CREATE ROLE payonce WITH LOGIN',
      'CREATE SCHEMA IF NOT EXISTS payonce',
      expect.stringMatching(/^CREATE TABLE IF NOT EXISTS schema_version /),
      expect.stringMatching(/^CREATE TABLE IF NOT EXISTS work /),
      'CREATE INDEX ASYNC IF NOT EXISTS work_due ON work (due_at) WHERE due_at IS NOT NULL',
      expect.stringMatching(/^INSERT INTO schema_version /),
      'GRANT USAGE ON SCHEMA payonce TO "payonce"',
      'GRANT SELECT ON schema_version TO "payonce"',
      'REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON schema_version FROM "payonce"',
      'GRANT SELECT, INSERT, UPDATE, DELETE ON work TO "payonce"',
      'REVOKE TRUNCATE ON work FROM "payonce"',
      `AWS IAM GRANT payonce TO '${role('Payments')}'`,
      `AWS IAM GRANT payonce TO '${role('Reads')}'`,
    ]);
  });

  test('gets grants only to new IAM roles when it is prepared again', async () => {
    const cluster = new Cluster();
    await prepare(cluster, role('Payments'));
    cluster.statements.length = 0;
    await prepare(cluster, role('Payments'), role('path/New'));
    const ofRoles = cluster.statements.filter((text) => /ROLE|IAM/.test(text));
    expect(ofRoles).toEqual([`AWS IAM GRANT payonce TO '${role('path/New')}'`]);
  });

  test('is not prepared if one of the names is not the ARN of an IAM role', async () => {
    await expect(prepare(new Cluster(), "arn:aws:iam::111122223333:role/x'; DROP")).rejects.toThrow(MigrationRefused);
  });
});
