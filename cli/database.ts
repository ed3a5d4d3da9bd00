import { existsSync } from 'node:fs';
import { types } from 'node:util';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { type Command, InvalidArgumentError } from 'commander';
import { databasesOf, type PostgresSettings, type ShardSettings } from '../lambdas/authority/contract.ts';
import { FIRST_SHARD } from '../lambdas/kernel/contract/tables.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { isFault, TerminalError } from '../lambdas/kernel/faults.ts';
import { SecretReader } from '../lambdas/kernel/platform/active-secrets.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import type { OpenDatabase } from '../lambdas/postgres/connection.ts';
import { isLoopback, parseServerUrl, type Server, serverSecret } from '../lambdas/postgres/server.ts';
import { serverOfCluster } from './dsql.ts';
import { CliFailure, ExitCode, sentence } from './failure.ts';
import type { Session } from './session.ts';

/** The URL contains a password. */
export const URL_VARIABLE = 'PAYONCE_DATABASE_URL';

export interface ChosenDatabase {
  readonly url?: string;
  readonly secret?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  readonly ca?: string;
  /** Connects as administrator to the Aurora DSQL cluster that the deployment created. @default false */
  readonly dsql?: boolean;
  /** The schema of the tables. @default the schema of a deployment */
  readonly schema?: string;
  /** Maximum number of connections. @default 1 */
  readonly connections?: number;
}

export function withServer(command: Command): Command {
  return command
    .option('--url <url>', `postgres://user:password@host:port/database; or set ${URL_VARIABLE}`)
    .option('--dsql', 'the cluster of Aurora DSQL that the deployment has created')
    .option('--secret <id>', 'a secret of Secrets Manager with username, password, host, port and dbname')
    .option('--host <name>', 'with --secret: the host, if the secret has none')
    .option('--port <number>', 'with --secret: the port', readPort)
    .option('--database <name>', 'with --secret: the database, if the secret has none')
    .option('--ca <file>', 'CA certificates (PEM), for example the RDS bundle', readFile);
}

/** Returns the database of a deployment's settings, with the user of the functions. @param settings as recorded */
export function databaseOfSettings(settings: Readonly<Record<string, string>>): ChosenDatabase {
  const { postgresSecretArn: secret, postgresHost: host, postgresPort: port, postgresDatabase: database } = settings;
  if (settings['authority'] === 'dsql') return { dsql: true };
  const { postgresCaFile: ca = '' } = settings;
  return {
    ...defined({ secret, host, database, port: port === undefined ? undefined : Number(port) }),
    // The path is valid in the functions. On this machine, the file exists only with the local stack.
    ...(existsSync(ca) ? { ca } : {}),
  };
}

/**
 * The main database first, then those of the setting `postgresShards`.
 *
 * @param settings as recorded
 */
export function databasesOfSettings(
  settings: Readonly<Record<string, string>>,
): readonly { readonly name: string; readonly chosen: ChosenDatabase }[] {
  const { postgresShards = '[]' } = settings;
  return withShards(databaseOfSettings(settings), JSON.parse(postgresShards) as readonly ShardSettings[]);
}

/**
 * Parts of the address that a shard lacks are taken from `first`.
 *
 * @param shards entries of the setting `postgresShards`
 */
export function withShards(
  first: ChosenDatabase,
  shards: readonly ShardSettings[],
): ReturnType<typeof databasesOfSettings> {
  if (shards.length === 0) return [{ name: FIRST_SHARD, chosen: first }];
  const { secret: secretId = '', host, port, database, ...rest } = first;
  return databasesOf({ secretId, ...defined({ host, port, database }), shards }).map(({ name, settings }) => ({
    name,
    chosen: { ...rest, ...chosenOf(settings) },
  }));
}

function chosenOf({ secretId: secret, host, port, database }: PostgresSettings): ChosenDatabase {
  return defined({ secret, host, port, database });
}

/**
 * Without a URL, a secret or `--dsql`, options in `chosen` replace values of the settings. @param settings as recorded
 */
export function chosenOr(settings: Readonly<Record<string, string>>, chosen: ChosenDatabase): ChosenDatabase {
  const { url = process.env[URL_VARIABLE], secret, dsql } = chosen;
  return url !== undefined || secret !== undefined || dsql === true
    ? chosen
    : { ...databaseOfSettings(settings), ...chosen };
}

/** Statements have no time limit. @throws CliFailure for a database fault */
export async function withDatabase<T>(
  session: Pick<Session, 'aws'>,
  chosen: ChosenDatabase,
  work: (database: OpenDatabase) => Promise<T>,
): Promise<T> {
  const { openDatabase } = await import('../lambdas/postgres/connection.ts');
  const server = await serverOf(session, chosen);
  const database = openDatabase({
    credentials: { current: async () => server, renewed: async () => undefined },
    clock: systemClock,
    tls: isLoopback(server.host) && chosen.ca === undefined ? undefined : { caFile: chosen.ca },
    engine: chosen.dsql === true ? 'dsql' : 'postgres',
    // No limit, because the creation of an index on a large table takes a long time.
    statementMs: 0,
    ...defined({ schema: chosen.schema, connections: chosen.connections }),
  });
  try {
    return await work(database);
  } catch (error) {
    throw await failureOf(error, server);
  } finally {
    await database.close();
  }
}

/** @throws CliFailure for a fault of any of them */
export async function withDatabases<T>(
  session: Pick<Session, 'aws'>,
  [next, ...others]: ReturnType<typeof databasesOfSettings>,
  work: (opened: readonly { readonly name: string; readonly database: OpenDatabase }[]) => Promise<T>,
): Promise<T> {
  if (next === undefined) return work([]);
  return withDatabase(session, next.chosen, (database) =>
    withDatabases(session, others, (opened) => work([{ name: next.name, database }, ...opened])),
  );
}

/** @throws CliFailure unless exactly one database is chosen, or when its address or credentials cannot be read */
export async function serverOf(session: Pick<Session, 'aws'>, chosen: ChosenDatabase): Promise<Server> {
  const { secret, dsql = false, url = secret === undefined && !dsql ? process.env[URL_VARIABLE] : undefined } = chosen;
  if (dsql && (url ?? secret) !== undefined)
    throw new CliFailure(ExitCode.usage, 'Use --dsql without --url or --secret.');
  if (dsql) return serverOfCluster(await session.aws());
  if (url !== undefined && secret !== undefined)
    throw new CliFailure(ExitCode.usage, 'Use either --url or --secret, not both.');
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
  { host, port, database }: ChosenDatabase,
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
    // Rethrow the AWS error itself, for its message.
    throw isFault(error) && error.cause !== undefined ? error.cause : error;
  }
}

/** Returns errors that are not database faults unchanged. */
async function failureOf(error: unknown, { host, port, user }: Server): Promise<unknown> {
  // A DynamoDB fault has an AWS SDK error as its cause.
  const isOfAws = isFault(error) && types.isNativeError(error.cause) && '$metadata' in error.cause;
  if (!isFault(error) || isOfAws) return error;
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

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError(`${text} is not a port.`);
}

export function readFile(text: string): string {
  if (existsSync(text)) return text;
  throw new InvalidArgumentError(`there is no file ${text}.`);
}
