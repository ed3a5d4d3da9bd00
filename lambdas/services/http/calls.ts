import { isUtf8 } from 'node:buffer';
import type { Context } from 'hono';
import { type GatewayEvent, gatewayRequest } from '../../http/gateway-request.ts';
import type { Answer } from '../../kernel/answer.ts';
import type { ServiceCall } from './answer-once.ts';

export async function readHonoRequest({ req }: Context, caller: string): Promise<ServiceCall> {
  const url = new URL(req.url);
  const query = new Map([...url.searchParams.keys()].map((name) => [name, url.searchParams.getAll(name)]));
  return {
    requestId: crypto.randomUUID(),
    method: req.method,
    resolvedPath: url.pathname,
    header: (name) => {
      const value = req.header(name);
      return value === undefined ? [] : [value];
    },
    query,
    // The handler can still read the same body, because Hono caches the first form that is read, and derives the others
    // from it.
    body: textOf(Buffer.from(await req.arrayBuffer())),
    caller,
  };
}

/**
 * Returns a body as the text to compare. A body that is not UTF-8 is encoded in base64: if it were decoded, two
 * different bodies could become the same text.
 */
function textOf(body: Buffer): string {
  return isUtf8(body) ? new TextDecoder().decode(body) : body.toString('base64');
}

/** Headers that are not stored, because they belong to one transmission of the response. */
const TRANSMISSION_HEADERS = new Set(['content-length', 'date', 'connection', 'transfer-encoding', 'set-cookie']);

/** @throws Error for a body that is not UTF-8, which could not be replayed */
export async function answerOf(response: Response): Promise<Answer> {
  const headers = [...response.headers].filter(([name]) => !TRANSMISSION_HEADERS.has(name));
  const body = Buffer.from(await response.arrayBuffer());
  if (!isUtf8(body)) throw new Error('A response that is not UTF-8 text cannot be stored.');
  return { status: response.status, headers: Object.fromEntries(headers), body: body.toString('utf8') };
}

export function responseOf(answer: Answer): Response {
  return new Response(answer.body === '' ? null : answer.body, answer);
}

export function lambdaCall(event: GatewayEvent, caller: string): ServiceCall & ReturnType<typeof gatewayRequest> {
  const request = gatewayRequest(event);
  const body = event.isBase64Encoded ? textOf(Buffer.from(request.body, 'base64')) : request.body;
  return { ...request, body, resolvedPath: `/${request.path.join('/')}`, caller };
}
