import type { IncomingMessage, ServerResponse } from 'node:http';

const MAX_BODY_BYTES = 10_485_760;

/** Returns a listener for Node's HTTP server that calls a fetch handler. A service would use `@hono/node-server`. */
export function listenerOf(fetch: (request: Request) => Response | Promise<Response>) {
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    answer(fetch, incoming, outgoing).catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
    });
  };
}

async function answer(
  fetch: (request: Request) => Response | Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = incoming;
  const address = `http://${headers.host ?? 'localhost'}${url}`;
  if (!URL.canParse(address)) return refuse(outgoing, 400, 'The header Host or the path is malformed.');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return refuse(outgoing, 413, `The body is larger than ${MAX_BODY_BYTES} bytes.`);
    chunks.push(chunk);
  }
  const body = method === 'GET' || method === 'HEAD' ? {} : { body: Buffer.concat(chunks) };
  const fields = Object.entries(headers).map(([name, value = '']): [string, string] => [name, String(value)]);
  const response = await fetch(new Request(address, { method, headers: fields, ...body }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}

function refuse(outgoing: ServerResponse, status: number, why: string): void {
  outgoing.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(`${why}\n`);
}
