import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ProcessorError } from '../contract/sandbox-api.ts';

/** An answer before it is put on the wire. `body` is what is sent, usually JSON. */
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
