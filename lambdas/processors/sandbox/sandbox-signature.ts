import { createHmac, timingSafeEqual } from 'node:crypto';
import { refused, type SignatureScheme, soleValue, UNIX_SECONDS, verifySignature } from '../signatures/signature.ts';
import { SIGNATURE_HEADER } from './sandbox-api.ts';

/** Format of SIGNATURE_HEADER: exactly one time and one signature, in this order (sandbox-api.ts). */
const FORM = new RegExp(`^t=(${UNIX_SECONDS}),v1=([0-9a-f]{64})$`);

export const sandboxSignature: SignatureScheme<'sandbox'> = {
  name: 'sandbox',
  verify: (callback, secrets, nowMs) => {
    const value = soleValue(callback, SIGNATURE_HEADER);
    if (typeof value !== 'string') return value;
    const [, seconds, hexadecimal] = FORM.exec(value) ?? [];
    if (seconds === undefined || hexadecimal === undefined) return refused('malformed');
    const given = Buffer.from(hexadecimal, 'hex');
    return verifySignature({ atSeconds: Number(seconds), nowMs, secrets }, (secret) => {
      const expected = createHmac('sha256', secret).update(`${seconds}.`).update(callback.body).digest();
      // Compared in constant time. `timingSafeEqual` requires equal lengths: both the pattern and SHA-256 yield 32
      // bytes.
      return timingSafeEqual(expected, given);
    });
  },
};
