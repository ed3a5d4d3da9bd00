import type { Context } from 'hono';
import { type GatewayEvent, gatewayRequest } from '../../http/gateway-request.ts';
import type { Answer } from '../../kernel/answer.ts';
import type { ServiceCall } from './answer-once.ts';

/** Reads the request of a Hono route. */
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
    body: await req.text(),
    caller,
  };
}

/** Headers that are not stored, because they belong to one transmission of the response. */
const TRANSMISSION_HEADERS = new Set(['content-length', 'date', 'connection', 'transfer-encoding', 'set-cookie']);

/** Returns the response of a handler as it is stored. */
export async function answerOf(response: Response): Promise<Answer> {
  const headers = [...response.headers].filter(([name]) => !TRANSMISSION_HEADERS.has(name));
  return { status: response.status, headers: Object.fromEntries(headers), body: await response.text() };
}

export function responseOf(answer: Answer): Response {
  return new Response(answer.body === '' ? null : answer.body, answer);
}

/** Reads the request of a Lambda function behind a REST API. */
export function lambdaCall(event: GatewayEvent, caller: string): ServiceCall & ReturnType<typeof gatewayRequest> {
  const request = gatewayRequest(event);
  const body = event.isBase64Encoded ? Buffer.from(request.body, 'base64').toString('utf8') : request.body;
  return { ...request, body, resolvedPath: `/${request.path.join('/')}`, caller };
}
