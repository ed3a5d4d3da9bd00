import { createServer } from 'node:http';
import { listenOnLoopback, stopListening } from './sandbox-listen.ts';

export interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly contentType: string | undefined;
  readonly rawBody: string;
  readonly signature: string;
  readonly event: { readonly id: string; readonly type: string; readonly data: Readonly<Record<string, unknown>> };
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** Later responses are 200. */
  readonly statuses: number[];
  /**
   * Called for each callback before the response. If the returned promise rejects, the connection closes without a
   * response.
   */
  onArrival: (arrival: Arrival) => Promise<void>;
}

export async function serveReceiver(): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const rawBody = Buffer.concat(chunks).toString('utf8');
      const arrival: Arrival = {
        method: request.method ?? '',
        path: request.url ?? '',
        contentType: request.headers['content-type'],
        rawBody,
        signature: String(request.headers['sandbox-signature']),
        event: JSON.parse(rawBody) as Arrival['event'],
      };
      arrivals.push(arrival);
      const status = statuses.shift() ?? 200;
      receiver.onArrival(arrival).then(
        () => response.writeHead(status, { location: '/elsewhere' }).end('taken'),
        () => response.destroy(),
      );
    });
  });
  const receiver: Receiver = {
    url: `${await listenOnLoopback(server)}/callbacks/sandbox`,
    arrivals,
    statuses,
    onArrival: async () => {},
    [Symbol.asyncDispose]: () => stopListening(server),
  };
  return receiver;
}

/**
 * Independent of the signing code.
 * @returns the time of the signature in Unix seconds; undefined if the signature is invalid
 */
export async function verifiedSeconds(arrival: Arrival, secret: string): Promise<number | undefined> {
  const [, seconds, hexadecimal] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(arrival.signature) ?? [];
  if (seconds === undefined || hexadecimal === undefined) return undefined;
  const bytes = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes.encode(secret), algorithm, false, ['verify']);
  const signature = Uint8Array.from(hexadecimal.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const right = await crypto.subtle.verify('HMAC', key, signature, bytes.encode(`${seconds}.${arrival.rawBody}`));
  return right ? Number(seconds) : undefined;
}
