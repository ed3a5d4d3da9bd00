import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import * as z from 'zod';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';

/** The fault of one request, before or after the request has taken effect. */
export type Trouble =
  | 'silent_before'
  | 'silent_after'
  | 'reset_before'
  | 'reset_after'
  | 'error_before'
  | 'error_after'
  | 'malformed_after'
  | 'unauthorized'
  | { readonly kind: 'rate_limited'; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'answer'; readonly status: number; readonly body: string };

export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Each write or read consumes the next fault that a test has queued for it. */
export class TroubledServer implements AsyncDisposable {
  /** `METHOD /path?query` of each request, in order of arrival. */
  readonly requests: string[] = [];
  readonly writeTroubles: Trouble[] = [];
  readonly readTroubles: Trouble[] = [];
  /** If set, the fault of every request. */
  outage: Trouble | undefined;
  url = '';
  readonly #server: Server;

  constructor(reply: (request: IncomingMessage, body: string) => Reply) {
    this.#server = createServer((request, response) => {
      void this.#serve(request, response, reply);
    });
  }

  async listen(): Promise<void> {
    this.url = await listenOnLoopback(this.#server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stopListening(this.#server);
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    reply: (request: IncomingMessage, body: string) => Reply,
  ): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
    const body = Buffer.concat(chunks).toString('utf8');
    this.requests.push(`${request.method} ${request.url}`);
    const troubles = request.method === 'GET' ? this.readTroubles : this.writeTroubles;
    const trouble = this.outage ?? troubles.shift();
    if (trouble === undefined || (typeof trouble === 'string' && trouble.endsWith('_after'))) {
      const { status, body: text } = reply(request, body);
      if (trouble === undefined) answer(response, status, text);
      else failWith(response, trouble, status, text);
    } else {
      failWith(response, trouble, 500, '');
    }
  }
}

function failWith(response: ServerResponse, trouble: Trouble, status: number, text: string): void {
  if (typeof trouble === 'object') {
    if (trouble.kind === 'rate_limited') answer(response, 429, '', trouble.headers);
    else answer(response, trouble.status, trouble.body);
    return;
  }
  switch (trouble) {
    case 'silent_before':
    case 'silent_after':
      return;
    case 'reset_before':
    case 'reset_after':
      response.socket?.resetAndDestroy();
      return;
    case 'error_before':
    case 'error_after':
      answer(response, 500, '{"ErrorCode":0,"Message":"Internal Server Error"}');
      return;
    case 'malformed_after':
      answer(response, status, text.slice(0, -10));
      return;
    case 'unauthorized':
      answer(response, 401, '{"ErrorCode":10,"Message":"Bad or missing API token"}');
  }
}

function answer(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

export const POSTMARK_TOKEN = 'postmark-server-token';
export const INACTIVE_RECIPIENT = 'inactive@example.com';

const emailBody = z.object({
  From: z.string(),
  To: z.string(),
  Subject: z.string(),
  TextBody: z.string(),
  Tag: z.string(),
  Headers: z.array(z.object({ Name: z.string(), Value: z.string() })),
  Metadata: z.record(z.string(), z.string()),
  MessageStream: z.string(),
});

export type ArrivedEmail = z.infer<typeof emailBody> & { readonly MessageID: string; readonly sentAtMs: number };

/** Sends duplicates too, and lists an e-mail in its search after `lagMs`. */
export class PostmarkDouble extends TroubledServer {
  readonly emails: ArrivedEmail[] = [];
  lagMs = 0;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    super((request, body) => {
      if (request.headers['x-postmark-server-token'] !== POSTMARK_TOKEN) return failure(401, 10, 'Bad API token');
      const url = new URL(request.url ?? '', 'http://postmark');
      if (request.method === 'GET' && url.pathname === '/server') return { status: 200, body: '{"ID":1}' };
      if (request.method === 'GET' && url.pathname === '/messages/outbound') return this.#search(url, clock.nowMs());
      if (request.method === 'POST' && url.pathname === '/email') return this.#send(body, clock.nowMs());
      return failure(404, 0, 'Not found');
    });
  }

  #send(body: string, sentAtMs: number): Reply {
    const email = emailBody.safeParse(JSON.parse(body));
    if (!email.success) return failure(422, 300, 'Invalid email request');
    if (email.data.To === INACTIVE_RECIPIENT) return failure(422, 406, 'You tried to send to an inactive recipient.');
    const id = `00000000-0000-4000-8000-${String(this.emails.length + 1).padStart(12, '0')}`;
    this.emails.push({ ...email.data, MessageID: id, sentAtMs });
    return { status: 200, body: JSON.stringify({ To: email.data.To, MessageID: id, ErrorCode: 0, Message: 'OK' }) };
  }

  #search(url: URL, nowMs: number): Reply {
    if (!url.searchParams.has('count') || !url.searchParams.has('offset')) return failure(422, 600, 'count, offset');
    const field = [...url.searchParams].find(([name]) => name.startsWith('metadata_'));
    const found = this.emails.filter(
      ({ sentAtMs, Metadata }) =>
        nowMs >= sentAtMs + this.lagMs &&
        (field === undefined || Metadata[field[0].slice('metadata_'.length)] === field[1]),
    );
    return { status: 200, body: JSON.stringify({ TotalCount: found.length, Messages: found }) };
  }
}

function failure(status: number, code: number, message: string): Reply {
  return { status, body: JSON.stringify({ ErrorCode: code, Message: message }) };
}

export async function servePostmark(clock: Pick<Clock, 'nowMs'>): Promise<PostmarkDouble> {
  const double = new PostmarkDouble(clock);
  await double.listen();
  return double;
}
