import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ProcessorError } from '../lambdas/processors/sandbox/sandbox-api.ts';

/** `body` is the text to send, usually JSON. */
export interface Reply {
  readonly status: ContentfulStatusCode;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function jsonReply(status: ContentfulStatusCode, body: unknown): Reply {
  return { status, body: JSON.stringify(body) };
}

export function errorReply(
  status: ContentfulStatusCode,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const body: ProcessorError = { error: { code, message } };
  return { ...jsonReply(status, body), headers };
}

export function send(c: Context, reply: Reply): Response {
  return c.body(reply.body, reply.status, { 'content-type': 'application/json', ...reply.headers });
}

export function notFound(c: Context): Reply {
  return errorReply(404, 'not_found', `There is nothing at ${c.req.path}.`);
}
