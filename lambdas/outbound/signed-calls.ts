import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '../kernel/world.ts';
import type { SendRequest } from './http-call.ts';

/** In a secret, before the key in base64 (Standard Webhooks 1.0.0, "Signature scheme"). A generated secret has no prefix. */
const SECRET_PREFIX = 'whsec_';

/**
 * Signs every call by Standard Webhooks 1.0.0 over the raw body, which is empty for a GET, so that its receiver can refuse the
 * calls of others. The message id is derived from the call and its time, so no two different calls share one.
 *
 * @param secret reads the current secret; called before each call, so a rotated secret takes effect without a deployment
 */
export function signedCalls(
  send: SendRequest,
  secret: () => Promise<string>,
  clock: Pick<Clock, 'nowMs'>,
): SendRequest {
  return async (call) => {
    const { method, url, body = '' } = call;
    const key = Buffer.from((await secret()).replace(SECRET_PREFIX, ''), 'base64');
    const nowMs = clock.nowMs();
    const seconds = Math.floor(nowMs / 1_000);
    const named = createHash('sha256')
      .update(JSON.stringify([nowMs, method, url, body]))
      .digest('base64url');
    const id = `msg_${named}`;
    const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
    return send({
      ...call,
      headers: {
        ...call.headers,
        'webhook-id': id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': `v1,${signature}`,
      },
    });
  };
}
