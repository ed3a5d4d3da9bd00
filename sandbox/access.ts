import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { errorReply, send } from './reply.ts';

/** A browser opens the page without a secret; the charge id in the path cannot be guessed. */
const PAYERS_PAGE = /^\/actions\/[^/]+$/;

/** Requests to the e-mail service contain the secret as the server token, as at the real service. */
export function requireSecret(secrets: () => Promise<readonly string[]>): MiddlewareHandler {
  return async (c, next) => {
    if (PAYERS_PAGE.test(c.req.path)) return next();
    const [, bearer] = /^Bearer (.+)$/.exec(c.req.header('authorization') ?? '') ?? [];
    const given = bearer ?? c.req.header('x-postmark-server-token') ?? '';
    const known = (await secrets()).map((secret) => isSame(secret, given));
    if (known.includes(true)) return next();
    const message = 'The sandbox requires its secret: Authorization: Bearer <secret>.';
    return send(c, errorReply(401, 'unauthorized', message, { 'www-authenticate': 'Bearer' }));
  };
}

/** Digests have equal lengths, which `timingSafeEqual` requires. */
function isSame(secret: string, given: string): boolean {
  const [left, right] = [secret, given].map((text) => createHash('sha256').update(text).digest());
  return secret !== '' && left !== undefined && right !== undefined && timingSafeEqual(left, right);
}
