import { createServer, connect as openSocket, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { listenNear } from '../../local/free-port.ts';
import type { SelfMadeCertificate } from '../../local/self-made-certificate.ts';

/** A client's request for TLS (PostgreSQL documentation, "Message Formats", SSLRequest). */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
/** Header of ReadyForQuery, which ends each response. A byte with the transaction status follows. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5]);

type Fault =
  /** Closes the connection instead of forwarding the request. */
  | 'lose request'
  /** Forwards the request, but closes the connection when the response is complete, and forwards none of it. */
  | 'lose response'
  /** Forwards the request, but no part of the response. The connection stays open. */
  | 'hold response';

export class PostgresProxy {
  /** Number of connections that clients have opened. */
  opened = 0;
  readonly #target: URL;
  readonly #certificate: SelfMadeCertificate | undefined;
  readonly #server = createServer((socket) => this.#accept(socket));
  readonly #sockets = new Set<Socket>();
  #planned: { readonly text: string; readonly fault: Fault } | undefined;
  #isSilent = false;
  #port = 0;

  private constructor(target: string, certificate?: SelfMadeCertificate) {
    this.#target = new URL(target);
    this.#certificate = certificate;
  }

  static async start(target: string, certificate?: SelfMadeCertificate): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target, certificate);
    proxy.#port = await listenNear(proxy.#server, 0);
    return proxy;
  }

  url(host = '127.0.0.1'): string {
    const url = new URL(this.#target);
    url.host = `${host}:${this.#port}`;
    return url.href;
  }

  /** Applies a fault to the next request that contains the text. */
  plan(text: string, fault: Fault): void {
    this.#planned = { text, fault };
  }

  /** Forwards nothing more on the open connections, like a network that has dropped them. */
  silence(): void {
    this.#isSilent = true;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(raw: Socket): void {
    this.opened += 1;
    this.#isSilent = false;
    this.#track(raw);
    const certificate = this.#certificate;
    if (certificate === undefined) {
      this.#forward(raw);
      return;
    }
    raw.once('data', (request) => {
      if (!request.equals(SSL_REQUEST)) {
        raw.destroy();
        return;
      }
      raw.write('S');
      this.#forward(this.#track(new TLSSocket(raw, { isServer: true, ...certificate })));
    });
  }

  #forward(client: Socket): void {
    const server = this.#track(openSocket(Number(this.#target.port), this.#target.hostname));
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    client.on('close', end);
    server.on('close', end);
    let isSilent = false;
    let isLost = false;
    let isHeld = false;
    client.on('data', (data) => {
      isSilent ||= this.#isSilent;
      if (isSilent) return;
      const planned = this.#planned;
      const matches = planned !== undefined && data.includes(planned.text);
      if (matches) this.#planned = undefined;
      if (matches && planned.fault === 'lose request') {
        end();
        return;
      }
      isLost ||= matches;
      isHeld ||= matches && planned.fault === 'hold response';
      server.write(data);
    });
    server.on('data', (data) => {
      if (isSilent) return;
      if (!isLost) client.write(data);
      else if (!isHeld && data.subarray(-6, -1).equals(READY)) end();
    });
  }

  #track<S extends Socket>(socket: S): S {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}
