import { createServer, type IncomingMessage } from 'node:http';
import { callSandbox, type SandboxCall } from './sandbox-calls.ts';
import { listenOnLoopback, stopListening } from './sandbox-listen.ts';
import type { SandboxHandler } from './sandbox-world.ts';

export interface SandboxServer extends AsyncDisposable {
  readonly url: string;
  /** For example `GET /charges?key=…`, in order of arrival. */
  readonly requests: readonly string[];
}

/** Serves the handler over HTTP on loopback, as API Gateway does. */
export async function serveSandbox(handler: SandboxHandler): Promise<SandboxServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    callOf(request)
      .then((call) => callSandbox(handler, call))
      .then(
        ({ status, headers, body }) => response.writeHead(status, headers).end(body),
        (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
      );
  });
  const url = await listenOnLoopback(server);
  return {
    url,
    requests,
    [Symbol.asyncDispose]: () => stopListening(server),
  };
}

async function callOf(request: IncomingMessage): Promise<SandboxCall> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://sandbox.example');
  const chunks: Uint8Array[] = [];
  const incoming: AsyncIterable<Uint8Array> = request;
  for await (const chunk of incoming) chunks.push(chunk);
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
  return {
    method: request.method ?? 'GET',
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: Object.fromEntries(headers),
    body: Buffer.concat(chunks).toString('utf8'),
  };
}
