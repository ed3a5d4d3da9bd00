import { createServer, type Socket } from 'node:net';
import { listenOnLoopback, stopListening } from './sandbox-listen.ts';

export interface RawServer extends AsyncDisposable {
  readonly url: string;
  /** In order of arrival, one entry per chunk. A small request arrives as one chunk. */
  readonly requests: readonly string[];
}

/** The script writes the raw response bytes for each request. */
export async function serveRaw(script: (socket: Socket) => void): Promise<RawServer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // The clients of some tests disconnect.
    socket.on('error', () => {});
    socket.on('data', (request) => {
      requests.push(request.toString('latin1'));
      script(socket);
    });
  });
  const url = await listenOnLoopback(server);
  return {
    url,
    requests,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await stopListening(server);
    },
  };
}

export function httpAnswer(status: number, body: string, headers: Readonly<Record<string, string>> = {}): string {
  const fields = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n${body}`;
}
