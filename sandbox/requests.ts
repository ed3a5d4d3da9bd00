import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Context } from 'hono';
import type * as z from 'zod';
import type { KeyedRequest } from './books.ts';
import { errorReply, type Reply } from './reply.ts';
import { idempotencyKey } from './request-bodies.ts';

/** The router sends `reply` as the response. */
export class BadRequest extends Error {
  readonly reply: Reply;

  constructor(code: string, message: string) {
    super(message);
    this.reply = errorReply(400, code, message);
  }
}

/** A missing body is an empty object. @throws BadRequest */
export async function jsonBody<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  const text = await c.req.text();
  let parsed: unknown;
  try {
    parsed = text === '' ? {} : JSON.parse(text);
  } catch (cause) {
    throw new BadRequest('invalid_json', cause instanceof Error ? cause.message : 'The body is not JSON.');
  }
  return checked(parsed, schema);
}

/** Throws a BadRequest that names the first invalid field. */
export function checked<T>(value: unknown, schema: z.ZodType<T>): T {
  const result = schema.safeParse(value);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new BadRequest('invalid_request', `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`);
  }
  return result.data;
}

/** @throws BadRequest for an invalid key */
export function keyed(c: Context, asked: object): KeyedRequest | undefined {
  const header = c.req.header('idempotency-key');
  if (header === undefined) {
    return undefined;
  }
  const key = idempotencyKey.safeParse(header);
  if (!key.success) {
    throw new BadRequest('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters.');
  }
  const fingerprint = createHash('sha256')
    .update(canonicalize(asked) ?? '')
    .digest('base64url');
  return { key: key.data, fingerprint };
}
