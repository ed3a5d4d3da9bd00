import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateSecretCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import { type OpenDatabase, openDatabase } from '../lambdas/postgres/connection.ts';
import type { Row } from '../lambdas/postgres/database.ts';
import { escapeIdentifier } from '../lambdas/postgres/driver.ts';
import { migrate } from '../lambdas/postgres/migrate.ts';
import { readMigrations } from '../lambdas/postgres/migrations.ts';
import { parseServerUrl } from '../lambdas/postgres/server.ts';
import { accessTo, type EmulatorAccess, isolatedEnvironment } from './emulator-environment.ts';
import { StartFailure } from './failure.ts';
import { type StartedServer, startKeptServer, stopKept } from './kept-process.ts';
import { CA_FILE, DATABASE, PASSWORD, POSTGRES_DIRECTORY, SECRET, SERVER_HOST, SUPERUSER } from './postgres-files.ts';

/** The next run that does not persist its data deletes this subdirectory first. */
const TEMPORARY = 'temporary-postgres';
const PROGRAM = join(import.meta.dirname, 'postgres-server.ts');
const LOG = 'postgres.log';
/** Includes the first initialization on a busy machine. */
const READY_WITHIN_MS = 180_000;

/** Has fewer connections than the server, so that an administrator can always connect. */
export const ROLE = 'payonce_functions';
const ROLE_CONNECTIONS = 180;

export interface LocalPostgres {
  readonly url: string;
  readonly keeperPid: number;
}

export interface RunningPostgres extends LocalPostgres, Pick<StartedServer, 'ended' | 'detach'> {
  stop(): Promise<void>;
}

interface PostgresOptions {
  readonly directory: string;
  /** The preferred port; another port is used if this one is taken. */
  readonly port: number;
  readonly persist: boolean;
  readonly databases?: readonly string[];
}

/**
 * Keeps the data of an earlier run.
 *
 * @throws StartFailure when it does not start, Error when its tables belong to another version
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const server = await startServer(options);
  try {
    await createTables(server.url, options.databases ?? [DATABASE]);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function startServer({ directory, port, persist }: PostgresOptions): Promise<RunningPostgres> {
  const files = join(directory, persist ? POSTGRES_DIRECTORY : TEMPORARY);
  if (!persist) rmSync(files, { recursive: true, force: true });
  const logFile = join(directory, LOG);
  const started = await startKeptServer({
    command: [process.execPath, PROGRAM, files, String(port)],
    environment: isolatedEnvironment(),
    directory,
    logFile,
    line: /^port (\d+)$/m,
    withinMs: READY_WITHIN_MS,
  });
  if (started === undefined)
    throw new StartFailure(readFileSync(logFile, 'utf8').trim() || `PostgreSQL did not start (see ${logFile}).`);
  const { captured: chosen, keeperPid, ended, detach } = started;
  const password = readFileSync(join(files, PASSWORD), 'utf8');
  return {
    url: `postgres://${SUPERUSER}:${password}@${SERVER_HOST}:${chosen}/${DATABASE}`,
    keeperPid,
    ended,
    detach,
    stop: () => stopKept(keeperPid),
  };
}

export function openLocalDatabase({ url }: Pick<LocalPostgres, 'url'>): OpenDatabase {
  const server = parseServerUrl(url);
  return openDatabase({
    credentials: { current: async () => server, renewed: async () => undefined },
    clock: systemClock,
    tls: { caFile: CA_FILE },
    statementMs: 0,
  });
}

async function createTables(url: string, databases: readonly string[]): Promise<void> {
  await withDatabase(onDatabase(url, SUPERUSER), async (run) => {
    if ((await run('SELECT 1 FROM pg_roles WHERE rolname = $1', ROLE)).length === 0)
      await run(`CREATE ROLE ${ROLE} LOGIN CONNECTION LIMIT ${ROLE_CONNECTIONS}`);
    for (const name of databases)
      if ((await run('SELECT 1 FROM pg_database WHERE datname = $1', name)).length === 0)
        await run(`CREATE DATABASE ${escapeIdentifier(name)}`);
  });
  for (const name of databases)
    await withDatabase(onDatabase(url, name), (_, database) =>
      migrate({ database, clock: systemClock, migrations: readMigrations(), role: ROLE }),
    );
}

/** The functions read the password and the address from the secret. */
export async function shareDatabase({ url }: LocalPostgres, access: EmulatorAccess): Promise<void> {
  const password = randomBytes(24).toString('hex');
  await withDatabase(url, (run) => run(`ALTER ROLE ${ROLE} PASSWORD '${password}'`));
  const { host, port } = parseServerUrl(url);
  const SecretString = JSON.stringify({ username: ROLE, password, host, port, dbname: DATABASE });
  const client = new SecretsManagerClient(accessTo(access));
  try {
    await client.send(new PutSecretValueCommand({ SecretId: SECRET, SecretString }));
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
    await client.send(new CreateSecretCommand({ Name: SECRET, SecretString }));
  }
}

export function onDatabase(url: string, name: string): string {
  return Object.assign(new URL(url), { pathname: name }).href;
}

async function withDatabase(
  url: string,
  work: (
    run: (text: string, ...values: readonly unknown[]) => Promise<readonly Row[]>,
    database: OpenDatabase,
  ) => Promise<unknown>,
): Promise<void> {
  const database = openLocalDatabase({ url });
  try {
    await work((text, ...values) => database.run({ name: '', text, values }), database);
  } finally {
    await database.close();
  }
}
