import { existsSync } from 'node:fs';
import { types } from 'node:util';
import { DescribeSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { type Command, InvalidArgumentError } from 'commander';
import { defined } from '../lambdas/kernel/defined.ts';
import { isFault, TerminalError } from '../lambdas/kernel/faults.ts';
import { SecretReader } from '../lambdas/kernel/platform/active-secrets.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import type { OpenDatabase } from '../lambdas/postgres/connection.ts';
import { readMigrations } from '../lambdas/postgres/migrations.ts';
import { isLoopback, parseServerUrl, type Server, serverSecret } from '../lambdas/postgres/server.ts';
import { emptyReplayCache } from './empty-cache.ts';
import { CliFailure, ExitCode } from './failure.ts';
import type { Session } from './session.ts';

/** Environment variable with the connection URL, which contains a password. */
const URL_VARIABLE = 'PAYONCE_DATABASE_URL';

interface Chosen {
  readonly url?: string;
  readonly secret?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  readonly ca?: string;
  readonly role?: string;
}

/** `payonce db`. */
export function addDb(program: Command, session: Session): void {
  const db = program.command('db').description('creates and examines the tables of a PostgreSQL database');
  withServer(
    db.command('migrate').description('creates the tables, and gives the role of the functions its privileges'),
  )
    .option('--role <name>', 'the role of the functions; without it, no privilege changes')
    .action((chosen: Chosen) => migrate(session, chosen));
  withServer(db.command('check').description('compares tables and privileges with this version; changes nothing'))
    .requiredOption('--role <name>', 'the role of the functions')
    .action((chosen: Chosen & { readonly role: string }) => checkDatabase(session, chosen));
  db.command('empty-cache')
    .description('deletes the answers in the table ReplayCache, so that replays ask PostgreSQL')
    .action(() => emptyReplayCache(session));
}

function withServer(command: Command): Command {
  return command
    .option('--url <url>', `postgres://user:password@host:port/database; or set ${URL_VARIABLE}`)
    .option('--secret <id>', 'a secret of Secrets Manager with username, password, host, port and dbname')
    .option('--host <name>', 'with --secret: the host, if the secret has none')
    .option('--port <number>', 'with --secret: the port', readPort)
    .option('--database <name>', 'with --secret: the database, if the secret has none')
    .option('--ca <file>', 'CA certificates (PEM), for example the bundle of RDS', readFile);
}

async function migrate(session: Session, chosen: Chosen): Promise<void> {
  const { MigrationRefused, migrate: run } = await import('../lambdas/postgres/migrate.ts');
  const { role } = chosen;
  const migrations = readMigrations();
  const applied = await withDatabase(session, chosen, (database) =>
    run({ database, clock: systemClock, migrations, role }).catch((error: unknown) => {
      throw error instanceof MigrationRefused ? new CliFailure(ExitCode.refused, sentence(error.message)) : error;
    }),
  );
  session.show({ applied, role }, [
    applied.length === 0 ? 'All migrations had been applied.' : `Migrations applied: ${applied.join(', ')}.`,
    ...(role === undefined ? [] : [`The role ${role} has its privileges.`]),
  ]);
}

async function checkDatabase(session: Session, chosen: Chosen & { readonly role: string }): Promise<void> {
  const { checkSchema } = await import('../lambdas/postgres/check-schema.ts');
  const { role } = chosen;
  const migrations = readMigrations();
  const problems = await withDatabase(session, chosen, (database) => checkSchema({ database, migrations, role }));
  session.show({ problems }, problems.length === 0 ? ['No problems found.'] : problems.map(({ detail }) => detail));
  if (problems.length > 0) throw new CliFailure(ExitCode.incomplete, `Problems found: ${problems.length}.`);
}

/**
 * Compares the database of a deployment's settings with this version, as the user of the functions. Returns a sentence
 * for each problem. That the database cannot be reached from here is a problem, too, and that the functions may not
 * decrypt the secret.
 */
export async function problemsOfDatabase(
  session: Pick<Session, 'aws'>,
  settings: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const { postgresSecretArn: secret = '', postgresHost: host, postgresPort: port, postgresDatabase } = settings;
  const chosen: Chosen = {
    secret,
    ...defined({ host, database: postgresDatabase, port: port === undefined ? undefined : Number(port) }),
  };
  const { checkSchema } = await import('../lambdas/postgres/check-schema.ts');
  const ofKey = await problemOfKey(session, secret, settings['postgresSecretKeyArn']);
  try {
    const { user: role } = await serverOf(session, chosen);
    const check = { migrations: readMigrations(), role };
    const problems = await withDatabase(session, chosen, (database) => checkSchema({ database, ...check }));
    return [...ofKey, ...problems.map(({ detail }) => detail)];
  } catch (error) {
    if (!(error instanceof CliFailure)) throw error;
    return [...ofKey, `${error.message} Run "payonce db check" where the database can be reached.`];
  }
}

/** Finds out whether the functions lack the permission for the KMS key of the secret. */
async function problemOfKey(
  session: Pick<Session, 'aws'>,
  SecretId: string,
  allowed: string | undefined,
): Promise<readonly string[]> {
  const client = new SecretsManagerClient(await session.aws());
  const { KmsKeyId: key } = await client.send(new DescribeSecretCommand({ SecretId }));
  // Absent for the AWS managed key. Otherwise the ARN, the id or the alias of the key, as its owner gave it.
  if (key === undefined || key.endsWith('alias/aws/secretsmanager')) return [];
  if (allowed !== undefined && (key.includes('alias/') || allowed.endsWith(key))) return [];
  return [
    `The secret is encrypted with the KMS key ${key}: deploy with the ARN of this key as payonce:postgresSecretKeyArn, so that the functions may decrypt the secret.`,
  ];
}

async function withDatabase<T>(
  session: Pick<Session, 'aws'>,
  chosen: Chosen,
  work: (database: OpenDatabase) => Promise<T>,
): Promise<T> {
  const { openDatabase } = await import('../lambdas/postgres/connection.ts');
  const server = await serverOf(session, chosen);
  const database = openDatabase({
    credentials: { current: async () => server, renewed: async () => undefined },
    clock: systemClock,
    tls: isLoopback(server.host) && chosen.ca === undefined ? undefined : { caFile: chosen.ca },
    // The creation of an index takes as long as the table is large.
    statementMs: 0,
  });
  try {
    return await work(database);
  } catch (error) {
    throw await failureOf(error, server);
  } finally {
    await database.close();
  }
}

async function serverOf(session: Pick<Session, 'aws'>, chosen: Chosen): Promise<Server> {
  const { secret, url = secret === undefined ? process.env[URL_VARIABLE] : undefined } = chosen;
  if (url !== undefined && secret !== undefined) throw new CliFailure(ExitCode.usage, 'Use one of --url and --secret.');
  if (secret !== undefined) return serverInSecret(session, secret, chosen);
  if (url === undefined)
    throw new CliFailure(ExitCode.settings, `No database is set: set ${URL_VARIABLE}, or use --url or --secret.`);
  try {
    return parseServerUrl(url);
  } catch (error) {
    throw new CliFailure(ExitCode.settings, sentence(error instanceof Error ? error.message : String(error)));
  }
}

async function serverInSecret(
  session: Pick<Session, 'aws'>,
  secret: string,
  { host, port, database }: Chosen,
): Promise<Server> {
  const client = new SecretsManagerClient(await session.aws());
  const parse = serverSecret({
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(database === undefined ? {} : { database }),
  });
  try {
    return await new SecretReader(client, systemClock, parse).active(secret);
  } catch (error) {
    if (error instanceof TerminalError) throw new CliFailure(ExitCode.settings, error.message);
    // The failure of AWS.
    throw isFault(error) && error.cause !== undefined ? error.cause : error;
  }
}

/** Returns the failure of the command line for a fault of the database. */
async function failureOf(error: unknown, { host, port, user }: Server): Promise<unknown> {
  if (!isFault(error)) return error;
  const { DatabaseFault, isLoginRefused } = await import('../lambdas/postgres/faults.ts');
  const reason = types.isNativeError(error.cause) ? `: ${error.cause.message}` : '';
  if (isLoginRefused(error))
    return new CliFailure(ExitCode.settings, `The database does not accept the user ${user}${reason}`);
  if (error.code === DatabaseFault.untrusted)
    return new CliFailure(
      ExitCode.settings,
      `The certificate of ${host} cannot be verified${reason}. Set its CA with --ca.`,
    );
  return error instanceof TerminalError
    ? new CliFailure(ExitCode.refused, `The database refused a statement${reason}`)
    : new CliFailure(ExitCode.unreachable, `The database at ${host}:${port} cannot be reached${reason}`);
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError(`${text} is not a port.`);
}

function readFile(text: string): string {
  if (existsSync(text)) return text;
  throw new InvalidArgumentError(`there is no file ${text}.`);
}
