import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { isIP } from 'node:net';
import { isFromPage } from '../lambdas/kernel/page-request.ts';

export class Direction {
  readonly #name: string;
  #carried = 0;
  #failures = 0;
  #isFailing = false;
  /** Time of the last success, in Unix milliseconds; 0 if there was none. */
  #succeededAtMs = 0;
  /** Number of messages that JetStream redelivered (`requests`) or discarded as duplicates (`events`). */
  redelivered = 0;
  parked = 0;

  constructor(name: string) {
    this.#name = name;
  }

  succeeded(): void {
    this.#carried += 1;
    this.#isFailing = false;
    this.#succeededAtMs = Date.now();
  }

  /**
   * @param begunAtMs start of the call in Unix milliseconds. If another call has succeeded since then, the direction
   * does not count as failing
   */
  failed(error: unknown, begunAtMs: number = Date.now()): void {
    this.#failures += 1;
    if (begunAtMs >= this.#succeededAtMs) this.#isFailing = true;
    log('error', `${this.#name}: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`);
  }

  get isFailing(): boolean {
    return this.#isFailing;
  }

  counts() {
    const { redelivered, parked } = this;
    return { carried: this.#carried, failures: this.#failures, failing: this.#isFailing, redelivered, parked };
  }
}

export interface Health {
  isConnected: boolean;
  reconnects: number;
  readonly directions: { readonly requests?: Direction; readonly events?: Direction };
}

/**
 * The status is 200 while the bridge can carry messages, otherwise 503. Requests from web pages, and requests whose
 * host is a domain name with dots, get 403.
 */
export async function serveHealth(health: Health, port: number): Promise<Server> {
  const server = createServer((request, answer) => {
    const refusal = refusalOf(request);
    if (refusal !== undefined) {
      answer.writeHead(refusal).end();
      return;
    }
    const directions = Object.entries(health.directions);
    const isWell = health.isConnected && directions.every(([, { isFailing }]) => !isFailing);
    const body = {
      status: isWell ? 'ok' : 'failing',
      nats: { connected: health.isConnected, reconnects: health.reconnects },
      ...Object.fromEntries(directions.map(([name, direction]) => [name, direction.counts()])),
    };
    answer.writeHead(isWell ? 200 : 503, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  return server;
}

function refusalOf({ method = '', url, headers }: IncomingMessage): number | undefined {
  // In the Host header, accept only the IP addresses and single-label service names that health checks use. An attacker
  // may have pointed any other domain name to this address (DNS rebinding).
  const [, ipv6, name = ''] = /^(?:\[(.+)\]|([^:]*))(?::\d+)?$/.exec(headers.host ?? '') ?? [];
  const isNamedByProbe = isIP(ipv6 ?? name) > 0 || /^[\w-]*$/.test(ipv6 ?? name);
  if (isFromPage(headers) || !isNamedByProbe) return 403;
  if (url !== '/health') return 404;
  return method === 'GET' || method === 'HEAD' ? undefined : 405;
}

/** The line never contains the content of a message. */
export function log(level: 'info' | 'error', message: string): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), level, message })}\n`);
}

export async function aborted(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await once(signal, 'abort');
  return undefined;
}
