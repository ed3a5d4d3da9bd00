import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenNear } from '../../local/free-port.ts';

export type Behavior =
  | 'sells'
  /** Sells the voucher, and closes the connection without a response. */
  | 'sells, loses the answer'
  /** Sells the voucher, and never responds. */
  | 'sells, does not answer'
  | 'sells, answers 500'
  /** Closes the connection, and sells the voucher after the next look-up. */
  | 'sells late'
  | 'answers with a page'
  | 'loses the request'
  | 'answers 429'
  | 'answers 400';

/** Sells a new voucher for each request, even for a repeated one. */
export class VoucherVendor {
  readonly sold: { readonly id: string; readonly reference: string }[] = [];
  readonly askedAtMs: number[] = [];
  /** In order. The vendor handles later requests as `sells`. */
  readonly planned: Behavior[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #port = 0;
  /** Sold after the next look-up. */
  readonly #late: { readonly id: string; readonly reference: string }[] = [];

  async start(): Promise<void> {
    this.#port = await listenNear(this.#server, this.#port);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  soldFor(reference: string): readonly string[] {
    return this.sold.flatMap((voucher) => (voucher.reference === reference ? voucher.id : []));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.url);
    if (request.method === 'GET') {
      const data = this.sold.filter(({ reference }) => reference === url.searchParams.get('reference'));
      response.end(JSON.stringify({ data }));
      this.sold.push(...this.#late.splice(0));
      return;
    }
    this.askedAtMs.push(Date.now());
    const { reference } = JSON.parse(await text(request)) as { readonly reference: string };
    const behavior = this.planned.shift() ?? 'sells';
    const voucher = { id: `vch_${this.sold.length + 1}`, reference };
    if (behavior === 'sells late') this.#late.push(voucher);
    else if (behavior.startsWith('sells')) this.sold.push(voucher);
    switch (behavior) {
      case 'sells':
        response.end(JSON.stringify(voucher));
        break;
      case 'sells, answers 500':
        response.writeHead(500).end();
        break;
      case 'answers 429':
        response.writeHead(429, { 'retry-after': '1' }).end();
        break;
      case 'answers 400':
        response.writeHead(400).end();
        break;
      case 'answers with a page':
        response.end('<html>');
        break;
      case 'sells late':
      case 'sells, loses the answer':
      case 'loses the request':
        request.socket.destroy();
        break;
      case 'sells, does not answer':
        break;
    }
  }
}
