import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Api } from '../world/api.ts';

/** @param before returns true if it has already sent the response */
export function apiServer(
  api: () => Api,
  before: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): Server {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (before(request, response)) return;
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const body = await text(request);
    const event = { body: body === '' ? null : body, headers, multiValueHeaders: {} };
    const reply = await api().ask(request.method ?? '', request.url ?? '', { event });
    response.writeHead(reply.status, reply.headers).end(reply.text);
  };
  return createServer((request, response) => void serve(request, response));
}
