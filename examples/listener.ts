import type { IncomingMessage, ServerResponse } from 'node:http';

/** Serves a fetch handler by Node's HTTP server. A service would use `@hono/node-server`. */
export function listenerOf(fetch: (request: Request) => Response | Promise<Response>) {
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    answer(fetch, incoming, outgoing).catch((error: unknown) => {
      outgoing.writeHead(500).end();
      process.stderr.write(`${String(error)}\n`);
    });
  };
}

async function answer(
  fetch: (request: Request) => Response | Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk as Uint8Array));
  const { method = 'GET', url = '/', headers } = incoming;
  const body = method === 'GET' || method === 'HEAD' ? {} : { body: Buffer.concat(chunks) };
  const fields = Object.entries(headers).map(([name, value = '']): [string, string] => [name, String(value)]);
  const response = await fetch(
    new Request(`http://${headers.host ?? 'localhost'}${url}`, { method, headers: fields, ...body }),
  );
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}
