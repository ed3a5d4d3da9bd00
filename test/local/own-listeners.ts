import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveHealth } from '../../bridge/health.ts';
import { listenForCallbacks } from '../../cli/conform.ts';
import { Lab } from '../../demo/lab/lab.ts';
import { labServer } from '../../demo/lab/server.ts';
import { listenerOf } from '../../examples/listener.ts';

/** The repository's listeners that run in Node. The emulator's listener is tested in guard.stores.test.ts. */
export const LISTENERS: readonly [name: string, start: () => Promise<Server>, path: string][] = [
  ['the lab', serveLab, '/lab'],
  [
    'the health listener of the bridge',
    () => serveHealth({ isConnected: true, reconnects: 0, directions: {} }, 0),
    '/health',
  ],
  ['the receiver of conform', () => listenForCallbacks(async () => 200, 0), '/'],
];

async function serveLab(): Promise<Server> {
  const run = () => Promise.reject(new Error('unexpected run of a scenario'));
  const lab = new Lab({
    scenarios: [],
    runner: { run },
    consoleUrl: 'http://127.0.0.1:4566/console',
    authority: 'dynamodb',
    other: run,
  });
  let serve: ReturnType<typeof labServer> | undefined;
  const server = createServer(listenerOf(async (request) => serve?.(request) ?? new Response()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  serve = labServer(lab, async () => '/nowhere', (server.address() as AddressInfo).port);
  return server;
}
