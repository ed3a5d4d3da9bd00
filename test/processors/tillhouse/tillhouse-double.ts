import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback, stopListening } from '../../sandbox/sandbox-listen.ts';
import type { Sale } from './tillhouse-api.ts';
import { seal } from './tillhouse-seal.ts';

export interface TillhouseDouble extends AsyncDisposable {
  readonly url: string;
  readonly sales: readonly Sale[];
  /** @returns Tillhouse's notification */
  paid(saleId: string, nowMs: number): { readonly body: string; readonly headers: Readonly<Record<string, string>> };
}

interface Keys {
  readonly shop: string;
  readonly key: string;
  readonly sealSecret: string;
}

interface Reply {
  readonly status: number;
  readonly body: object;
}

const NOT_FOUND: Reply = { status: 404, body: {} };

/** A request with a known name gets the stored sale or return. */
export async function serveTillhouse({ shop, key, sealSecret }: Keys): Promise<TillhouseDouble> {
  const sales = new Map<string, Sale>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOf(request);
    const known = request.headers['till-shop'] === shop && request.headers['till-key'] === key;
    const { status, body } = known ? replyTo(sales, request, text) : { status: 401, body: {} };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response));
  return {
    url: await listenOnLoopback(server),
    get sales() {
      return [...sales.values()];
    },
    paid: (saleId, nowMs) => {
      const waiting = sales.get(saleId);
      if (waiting === undefined) throw new Error(`there is no sale ${saleId}`);
      sales.set(saleId, { ...waiting, state: 'paid' });
      const body = JSON.stringify({ notice: `n-${saleId}`, sale: saleId, what: 'sale.paid' });
      return { body, headers: { 'Till-Seal': seal(sealSecret, Math.floor(nowMs / 1_000), Buffer.from(body)) } };
    },
    [Symbol.asyncDispose]: () => stopListening(server),
  };
}

function replyTo(sales: Map<string, Sale>, { method, url = '' }: IncomingMessage, text: string): Reply {
  const { pathname, searchParams } = new URL(url, 'http://tillhouse');
  const [first, name = '', , returnName] = pathname.split('/').slice(1);
  if (first === 'pulse') return { status: 200, body: {} };
  if (first !== 'sales') return NOT_FOUND;
  if (name === '') {
    const payment = searchParams.get('payment');
    return { status: 200, body: { sales: [...sales.values()].filter((each) => each.payment === payment) } };
  }
  const known = sales.get(name);
  if (method === 'GET') return known === undefined ? NOT_FOUND : { status: 200, body: known };
  const asked = JSON.parse(text) as { cents: number; currency: string; token: string; payment: string };
  if (returnName !== undefined)
    return known === undefined ? NOT_FOUND : giveBack(sales, known, returnName, asked.cents);
  if (asked.token === 'till_refused') return { status: 402, body: { why: 'The bank said no.' } };
  const { cents, currency, payment } = asked;
  const state = asked.token === 'till_later' ? 'waiting' : 'paid';
  const sale: Sale = known ?? { id: name, payment, cents, currency, state, returns: [], made: 1_772_366_400 };
  sales.set(name, sale);
  return { status: 200, body: sale };
}

function giveBack(sales: Map<string, Sale>, sale: Sale, name: string, cents: number): Reply {
  const back = sale.returns.reduce((sum, each) => sum + each.cents, 0);
  const isKnown = sale.returns.some((each) => each.name === name);
  if (!isKnown && back + cents > sale.cents) return { status: 422, body: { why: 'It is more than was paid.' } };
  const changed = isKnown ? sale : { ...sale, returns: [...sale.returns, { name, cents }] };
  sales.set(sale.id, changed);
  return { status: 200, body: changed };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request) text += String(part);
  return text;
}
