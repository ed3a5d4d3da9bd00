import { DescribeSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { type Command, InvalidArgumentError } from 'commander';
import { TerminalError } from '../lambdas/kernel/faults.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import { SERVICE_SCHEMA } from '../lambdas/postgres/contract.ts';
import type { Runner } from '../lambdas/postgres/database.ts';
import { DSQL_ROLE, type Engine } from '../lambdas/postgres/dsql.ts';
import { readIdentity } from '../lambdas/postgres/identity.ts';
import { readMigrations } from '../lambdas/postgres/migrations.ts';
import { type ChosenDatabase, databasesOfSettings, serverOf, withDatabase, withServer } from './database.ts';
import { deployedCluster } from './dsql.ts';
import { emptyReplayCache } from './empty-cache.ts';
import { CliFailure, ExitCode, sentence } from './failure.ts';
import { addImport } from './importing.ts';
import { addMoveTenant } from './moving-tenant.ts';
import { addRecover } from './recovering.ts';
import type { Session } from './session.ts';

interface Chosen extends ChosenDatabase {
  readonly role?: string;
  /**
   * Schema of the table that services outside Payonce use. `true`: the default schema. Absent: the command uses the
   * tables of the deployment.
   */
  readonly service?: string | true;
}

export function addDb(program: Command, session: Session): void {
  const db = program.command('db').description('creates and examines the tables of a PostgreSQL database');
  withTables(
    db.command('migrate').description('creates the tables, and grants the role of the functions its privileges'),
  )
    .option('--role <name>', 'the role of the functions; without it, no privileges are granted')
    .action((chosen: Chosen) => migrate(session, chosen));
  withTables(db.command('check').description('compares tables and privileges with this version; changes nothing'))
    .requiredOption('--role <name>', 'the role of the functions')
    .action((chosen: Chosen & { readonly role: string }) => checkDatabase(session, chosen));
  db.command('empty-cache')
    .description('deletes the responses in the table ReplayCache, so that replays read PostgreSQL')
    .action(() => emptyReplayCache(session));
  addImport(db, session);
  addRecover(db, session);
  addMoveTenant(db, session);
}

function withTables(command: Command): Command {
  return withServer(command).option(
    '--service [schema]',
    `select the table for services outside Payonce, in this schema, instead of the deployment's tables; the default schema is ${SERVICE_SCHEMA}`,
    readSchema,
  );
}

function readSchema(text: string): string {
  if (/^[a-z][a-z0-9_]{0,62}$/.test(text)) return text;
  throw new InvalidArgumentError(`${text} is not a schema name of lower-case letters, digits and _.`);
}

/** @throws CliFailure for options that `--dsql` excludes */
function tablesOf({ service, dsql = false, role = DSQL_ROLE }: Chosen) {
  if (dsql && (service !== undefined || role !== DSQL_ROLE))
    throw new CliFailure(ExitCode.usage, `With --dsql, the role is ${DSQL_ROLE}, and --service is not available.`);
  if (service === undefined) return { migrations: readMigrations() };
  return { migrations: readMigrations('service'), schema: service === true ? SERVICE_SCHEMA : service };
}

async function migrate(session: Session, chosen: Chosen): Promise<void> {
  const { MigrationRefused, migrate: run, migrateCluster } = await import('../lambdas/postgres/migrate.ts');
  const { dsql = false, role = dsql ? DSQL_ROLE : undefined } = chosen;
  const tables = tablesOf(chosen);
  const iamRoles = dsql ? (await deployedCluster(await session.aws())).iamRoles : [];
  const applied = await withDatabase(session, { ...chosen, ...tables }, (database) => {
    const given = { database, clock: systemClock, ...tables };
    return (dsql ? migrateCluster({ ...given, iamRoles }) : run({ ...given, role })).catch((error: unknown) => {
      throw error instanceof MigrationRefused ? new CliFailure(ExitCode.refused, sentence(error.message)) : error;
    });
  });
  session.show({ applied, role }, [
    applied.length === 0 ? 'All migrations were already applied.' : `Migrations applied: ${applied.join(', ')}.`,
    ...(role === undefined ? [] : [`The role ${role} has the privileges that it needs.`]),
  ]);
}

async function checkDatabase(session: Session, chosen: Chosen & { readonly role: string }): Promise<void> {
  const { checkSchema } = await import('../lambdas/postgres/check-schema.ts');
  const { role } = chosen;
  const tables = tablesOf(chosen);
  const problems = await withDatabase(session, { ...chosen, ...tables }, (database) =>
    checkSchema({ database, ...tables, role, engine: engineOf(chosen) }),
  );
  session.show({ problems }, problems.length === 0 ? ['No problems found.'] : problems.map(({ detail }) => detail));
  if (problems.length > 0) throw new CliFailure(ExitCode.incomplete, `Problems found: ${problems.length}.`);
}

/**
 * @param identityOf reads the recorded identity of the database with this name
 * @default no identity, as before the first deployment
 */
export async function problemsOfDatabase(
  session: Pick<Session, 'aws'>,
  settings: Readonly<Record<string, string>>,
  identityOf: (name: string) => Promise<number | undefined> = async () => undefined,
): Promise<readonly string[]> {
  const databases = databasesOfSettings(settings);
  const problems: string[] = [];
  for (const { name, chosen } of databases) {
    const identity = await identityOf(name);
    const found = await problemsOf(session, chosen, { key: settings['postgresSecretKeyArn'], identity });
    problems.push(...(databases.length === 1 ? found : found.map((problem) => `${name}: ${problem}`)));
  }
  return problems;
}

/**
 * Connects as the user of the functions. An unreachable database, a database other than the one with the payments, and
 * a secret that the functions cannot decrypt are also problems.
 */
async function problemsOf(
  session: Pick<Session, 'aws'>,
  chosen: ChosenDatabase,
  { key, identity }: { readonly key: string | undefined; readonly identity: number | undefined },
): Promise<readonly string[]> {
  const { checkSchema } = await import('../lambdas/postgres/check-schema.ts');
  const { missingIamRoles } = await import('../lambdas/postgres/migrate.ts');
  const { dsql = false, secret } = chosen;
  const ofAccess = secret === undefined ? [] : [...(await problemOfKey(session, secret, key))];
  try {
    const role = dsql ? DSQL_ROLE : (await serverOf(session, chosen)).user;
    const check = { migrations: readMigrations(), role, engine: engineOf(chosen) };
    const iamRoles = dsql ? (await deployedCluster(await session.aws())).iamRoles : [];
    return await withDatabase(session, chosen, async (database) => {
      const problems = await checkSchema({ database, ...check });
      if (dsql && (await missingIamRoles(database, iamRoles)).length > 0)
        ofAccess.push(
          'The role of a function is not allowed to connect to the cluster: run "payonce db migrate --dsql".',
        );
      return [...ofAccess, ...(await problemOfIdentity(database, identity)), ...problems.map(({ detail }) => detail)];
    });
  } catch (error) {
    if (!(error instanceof CliFailure)) throw error;
    return [...ofAccess, `${error.message} Run "payonce db check" on a host that can reach the database.`];
  }
}

function engineOf({ dsql = false }: ChosenDatabase): Engine {
  return dsql ? 'dsql' : 'postgres';
}

async function problemOfIdentity(database: Runner, expected: number | undefined): Promise<readonly string[]> {
  if (expected === undefined) return [];
  const found = await readIdentity(database).catch((error: unknown) => {
    // A database without the migrations table cannot be the one with the payments.
    if (error instanceof TerminalError) return undefined;
    throw error;
  });
  return found === expected
    ? []
    : ['The payments are in another database: correct the address in the settings or in the secret.'];
}

async function problemOfKey(
  session: Pick<Session, 'aws'>,
  SecretId: string,
  allowed: string | undefined,
): Promise<readonly string[]> {
  const client = new SecretsManagerClient(await session.aws());
  const { KmsKeyId: key } = await client.send(new DescribeSecretCommand({ SecretId }));
  // `KmsKeyId` is usually absent for the AWS managed key. Otherwise, it is the ARN, the id or the alias of the key, as
  // entered when the secret was created.
  if (key === undefined || key.endsWith('alias/aws/secretsmanager')) return [];
  if (allowed !== undefined && (key.includes('alias/') || allowed.endsWith(key))) return [];
  return [
    `The secret is encrypted with the KMS key ${key}: deploy with the ARN of this key as payonce:postgresSecretKeyArn, so that the functions may decrypt the secret.`,
  ];
}
