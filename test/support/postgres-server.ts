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
import { startCluster } from '../../local/postgres-cluster.ts';

/** Tests use one database each, and several files can run at once. */
const MAX_CONNECTIONS = 200;

interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

let running: Promise<Running> | undefined;

async function start(): Promise<Running> {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-postgres-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const files = join(directory, 'server');
  const options = { directory: files, port: 15_432, maxConnections: MAX_CONNECTIONS, tls: false };
  const { port, password, stop } = await startCluster(options);
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, stop };
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
