import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Calls } from './calls.ts';

export interface HttpRequest {
  readonly method: string;
  /** Path with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer<ArrayBuffer>;
}

export interface Gate {
  readonly port: number;
  close(): void;
}

/** One process reaches all services through this server, so that each of its calls can be stopped. */
export async function openHttpGate(calls: Calls, answer: (request: HttpRequest) => Promise<Response>): Promise<Gate> {
  const server = createServer((incoming, outgoing) => {
    const call = calls.next();
    const reply = async (): Promise<void> => {
      const request = await requestOf(incoming);
      if (!(await calls.pass(call, 'before'))) return;
      const response = await answer(request);
      const body = Buffer.from(await response.arrayBuffer());
      if (!(await calls.pass(call, 'after'))) return;
      outgoing.writeHead(response.status, headersOf(response, body)).end(body);
    };
    reply().catch((error: unknown) => outgoing.destroy(error as Error));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function requestOf(incoming: IncomingMessage): Promise<HttpRequest> {
  const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
  const body = Buffer.from(await buffer(incoming));
  const { method = 'GET', url: path = '/' } = incoming;
  return { method, path, headers: Object.fromEntries(headers), body };
}

/** Response headers that are passed on, including DynamoDB's checksum, which the SDK verifies. */
const PASSED_HEADERS = ['content-type', 'x-amz-crc32', 'x-amzn-requestid'];

function headersOf({ headers }: Response, body: Buffer): Readonly<Record<string, string | number>> {
  const passed = PASSED_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(passed), 'content-length': body.length };
}
