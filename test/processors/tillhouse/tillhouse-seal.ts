import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  refused,
  type SignatureScheme,
  soleValue,
  UNIX_SECONDS,
  verifySignature,
} from '../../../lambdas/processors/signatures/signature.ts';

const FORM = new RegExp(`^(${UNIX_SECONDS})\\.([0-9A-Za-z_-]{86})$`);

export function seal(secret: string, seconds: number, body: Uint8Array): string {
  const mac = createHmac('sha512', secret).update(`${seconds}\n`).update(body).digest('base64url');
  return `${seconds}.${mac}`;
}

export const tillhouseSeal: SignatureScheme<'tillhouse-seal'> = {
  name: 'tillhouse-seal',
  verify: (callback, secrets, nowMs) => {
    const value = soleValue(callback, 'till-seal');
    if (typeof value !== 'string') return value;
    const [, seconds] = FORM.exec(value) ?? [];
    if (seconds === undefined) return refused('malformed');
    const atSeconds = Number(seconds);
    return verifySignature({ atSeconds, nowMs, secrets }, (secret) =>
      timingSafeEqual(Buffer.from(seal(secret, atSeconds, callback.body)), Buffer.from(value)),
    );
  },
};
