import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { SelfMadeCertificate } from '../../local/self-made-certificate.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';

export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly arrivals: readonly { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string }[];
  respond: (response: ServerResponse) => void;
}

export async function serveWebhookReceiver(certificate?: SelfMadeCertificate): Promise<WebhookReceiver> {
  const arrivals: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const take: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      arrivals.push({
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      });
      receiver.respond(response);
    });
  };
  const server = certificate === undefined ? createServer(take) : createTlsServer(certificate, take);
  const base = await listenOnLoopback(server);
  const receiver: WebhookReceiver = {
    url: `${base}/hooks`,
    port: Number(new URL(base).port),
    arrivals,
    respond: (response) => response.writeHead(204).end(),
    [Symbol.asyncDispose]: () => stopListening(server),
  };
  return receiver;
}
