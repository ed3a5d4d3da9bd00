import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** For other requests, the operation is the HTTP method. */
export type Answer = (operation: string, body: Readonly<Record<string, unknown>>) => object;

/**
 * The server responds immediately, and its CPU time is not measured.
 *
 * @param answer returns the body of each response
 * @param work receives the base URL of the server
 */
export async function withStandIn<Result>(answer: Answer, work: (url: string) => Promise<Result>): Promise<Result> {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const target = request.headers['x-amz-target'];
    const operation = String(target ?? '').split('.')[1] ?? String(request.method);
    const answered = JSON.stringify(answer(operation, JSON.parse(await text(request)) as Record<string, unknown>));
    response.writeHead(target === undefined ? 201 : 200, { 'content-type': 'application/json' }).end(answered);
  };
  const server = createServer((request, response) => void respond(request, response));
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
