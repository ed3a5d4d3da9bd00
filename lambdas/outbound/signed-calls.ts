import { createHash } from 'node:crypto';
import type { Webhook } from 'standardwebhooks';
import { RetryableError } from '../kernel/faults.ts';
import { type WireClock, wireMs } from '../kernel/world.ts';
import type { SendRequest } from './http-call.ts';

/**
 * Signs the raw body of every call by Standard Webhooks 1.0.0. The body of a GET is empty. With the signature, the
 * receiver can refuse calls from other senders. The message id is derived from the call and its time, so no two
 * different calls share an id.
 *
 * @param secret reads the current secret; called before each call, so a rotated secret takes effect without a
 * deployment
 * @throws RetryableError (from the returned function) when the secret is empty or not base64; nothing is sent
 */
export function signedCalls(send: SendRequest, secret: () => Promise<string>, clock: WireClock): SendRequest {
  return async (call) => {
    const { method, url, body = '' } = call;
    const signer = await signerOf(await secret());
    const nowMs = wireMs(clock);
    const seconds = Math.floor(nowMs / 1_000);
    const named = createHash('sha256')
      .update(JSON.stringify([nowMs, method, url, body]))
      .digest('base64url');
    const id = `msg_${named}`;
    return send({
      ...call,
      headers: {
        ...call.headers,
        'webhook-id': id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': signer.sign(id, new Date(nowMs), body),
      },
    });
  };
}

/** @param secret reads the current secret, as for {@link signedCalls} */
export function withBearer(send: SendRequest, secret: () => Promise<string>): SendRequest {
  return async (call) =>
    send({ ...call, headers: { ...call.headers, authorization: `Bearer ${await secret()}` }, causes: 'dropped' });
}

/**
 * Loads `standardwebhooks` only at the first signed call, because calls to the sandbox are not signed. The package is
 * CommonJS, so in the bundle, where it is a separate file, it has only a default export.
 */
async function signerOf(secret: string): Promise<Webhook> {
  const { default: standardWebhooks } = await import('standardwebhooks');
  try {
    return new standardWebhooks.Webhook(secret);
  } catch (error) {
    throw new RetryableError('signing_secret_unusable', 'The secret that signs calls is empty or not base64.', {
      cause: error,
    });
  }
}
